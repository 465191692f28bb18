//! A triage component: sorts tickets by the words that they share with the examples of each category.
//!
//! The configuration is the file of `tickets.triage`. Change `classify`, or ask a classifier (`wasi:nn`) or the language
//! model (`bulkhead:host/llm`), which the world imports too. The conditions of rules are not read.

use std::collections::BTreeSet;

use bulkhead_guest::Log;
use serde_json::{Value, json};

use bindings::exports::bulkhead::triage::tickets::{
    Action, ActionKind, Candidate, Decision, Error, Guest, PromptVersion, Settings,
};

/// Bindings generated from the WIT.
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "bulkhead:triage/triage", generate_all });

    use super::Component;
    export!(Component);
}

const LOG: Log = Log::new(env!("CARGO_PKG_NAME"));
/// Shorter words say nothing of a category, characters.
const SHORTEST: usize = 4;

struct Component;

fn invalid(why: &str) -> Error {
    Error::Configuration(why.to_owned())
}

/// Returns a text of the configuration.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the members of a list of the configuration.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| word.chars().count() >= SHORTEST).map(str::to_lowercase).collect()
}

/// Returns each category with its share of the words that the text has in common with all, the best first.
fn classify(configuration: &Value, text: &str) -> Result<Vec<Candidate>, Error> {
    let text = words(text);
    let mut counted = Vec::new();
    for category in list(&configuration["categories"]) {
        let name = category["name"].as_str().ok_or_else(|| invalid("a category has no name"))?;
        let examples = list(&category["examples"]).filter_map(Value::as_str);
        let known: BTreeSet<String> =
            examples.chain(category["description"].as_str()).flat_map(words).collect();
        counted.push((name, text.intersection(&known).count()));
    }
    let all = counted.iter().map(|(_, count)| count).sum::<usize>().max(1);
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let share = |count: usize| count as f32 / all as f32;
    let candidate =
        |(name, count): (&str, usize)| Candidate { name: name.to_owned(), confidence: share(count) };
    Ok(counted.into_iter().map(candidate).collect())
}

/// Returns the action of a category's first rule, or the one for tickets without a rule.
fn action(configuration: &Value, category: &str) -> Result<Action, Error> {
    let rule = list(&configuration["action_rules"]).find(|rule| rule["category_name"] == category);
    let name = rule.map_or(&configuration["no_action_name"], |rule| &rule["action_name"]);
    let action = list(&configuration["actions"]).find(|action| action["name"] == *name);
    let action = action.ok_or_else(|| invalid("no action has the name that the category leads to"))?;
    Ok(Action {
        name: text(name),
        description: text(&action["description"]),
        kind: match action["type"].as_str() {
            Some("AIAnswer") => ActionKind::AiAnswer,
            Some("StaticAnswer") => ActionKind::StaticAnswer,
            _ => ActionKind::NoAction,
        },
        answer: action["answer"].as_str().map(str::to_owned),
    })
}

impl Guest for Component {
    fn triage(settings: Settings, ticket: String) -> Result<Decision, Error> {
        LOG.report_panics();
        let configuration: Value =
            serde_json::from_str(&settings.configuration).map_err(|error| invalid(&error.to_string()))?;
        let mut candidates = classify(&configuration, &ticket)?;
        let best = candidates.first().filter(|best| best.confidence > 0.0).cloned();
        let none = || Candidate { name: text(&configuration["no_category_name"]), confidence: 0.0 };
        let best = best.unwrap_or_else(none);
        candidates.retain(|other| other.name != best.name);
        Ok(Decision {
            user_text: ticket,
            reasoning: format!("its words are those of {}", best.name),
            action: action(&configuration, &best.name)?,
            category: best.name,
            confidence: best.confidence,
            auto_publish: false,
            extracted_values: Vec::new(),
            alternatives: candidates,
            language: None,
            internal_note: None,
        })
    }

    fn prompt_versions(_settings: Settings) -> Result<Vec<PromptVersion>, Error> {
        LOG.report_panics();
        Ok(Vec::new())
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        let configuration =
            json!({ "categories": [{ "name": "waste", "examples": ["My dustbin is full."] }] });
        match classify(&configuration, "the dustbin of my house").as_deref() {
            Ok([only]) if only.confidence > 0.5 => Ok(()),
            other => Err(format!("a known word decides nothing: {other:?}")),
        }
    }
}
