//! A triage component: sorts tickets by the words of each category that the configuration names.
//!
//! It reads `{"categories": [{"name": "...", "words": ["..."]}]}`. Change `classify`, or ask a classifier (`wasi:nn`) or
//! the language model (`bulkhead:host/llm`), which the world imports too.

use bulkhead_guest::Log;
use serde_json::Value;

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
/// The category of tickets with no known word.
const OTHER: &str = "other";

struct Component;

/// Returns each category with the share of the known words that are its own, the best first.
fn classify(configuration: &str, text: &str) -> Result<Vec<Candidate>, Error> {
    let invalid = |why: &str| Error::Configuration(why.to_owned());
    let configuration: Value =
        serde_json::from_str(configuration).map_err(|error| invalid(&error.to_string()))?;
    let categories =
        configuration["categories"].as_array().ok_or_else(|| invalid("categories is no list"))?;
    let text = text.to_lowercase();
    let mut counted = Vec::new();
    for category in categories {
        let name = category["name"].as_str().ok_or_else(|| invalid("a category has no name"))?;
        let words = category["words"].as_array().map(Vec::as_slice).unwrap_or_default();
        let words = words.iter().filter_map(Value::as_str);
        counted.push((name, words.filter(|word| text.contains(&word.to_lowercase())).count()));
    }
    let all = counted.iter().map(|(_, count)| count).sum::<usize>().max(1);
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let share = |count: usize| count as f32 / all as f32;
    let candidate =
        |(name, count): (&str, usize)| Candidate { name: name.to_owned(), confidence: share(count) };
    Ok(counted.into_iter().map(candidate).collect())
}

impl Guest for Component {
    fn triage(settings: Settings, text: String) -> Result<Decision, Error> {
        LOG.report_panics();
        let mut candidates = classify(&settings.configuration, &text)?.into_iter();
        let best = candidates.next().filter(|best| best.confidence > 0.0);
        let best = best.unwrap_or(Candidate { name: OTHER.to_owned(), confidence: 0.0 });
        Ok(Decision {
            user_text: text,
            reasoning: format!("its words are those of {}", best.name),
            category: best.name,
            confidence: best.confidence,
            auto_publish: false,
            action: Action {
                name: "answer".to_owned(),
                description: "A clerk answers.".to_owned(),
                kind: ActionKind::NoAction,
                answer: None,
            },
            extracted_values: Vec::new(),
            alternatives: candidates.collect(),
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
        let configuration = r#"{"categories": [{"name": "waste", "words": ["bin"]}]}"#;
        match classify(configuration, "My bin is full").as_deref() {
            Ok([only]) if only.confidence > 0.5 => Ok(()),
            other => Err(format!("a known word decides nothing: {other:?}")),
        }
    }
}
