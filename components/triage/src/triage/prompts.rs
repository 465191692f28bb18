//! Versions of everything that determines decisions, under the prompt names of the replaced service, so that
//! operators can compare two hosts.

use bulkhead_text::language::Language;
use bulkhead_ticket_text::injection;
use bulkhead_ticket_text::llm::Prompt;
use bulkhead_triage_configuration::Configuration;
use serde_json::json;

use crate::llm;
use crate::triage::Strategy;

/// Returns all prompts, with those of the language model if it decides.
pub fn prompts(configuration: &Configuration, head: Option<&str>, strategy: Strategy) -> Vec<Prompt> {
    let categories = configuration.categories.iter();
    let categories =
        categories.map(|category| json!([category.name, category.threshold, category.auto_publish]));
    let examples = configuration.categories.iter().map(|category| json!([category.name, *category.examples]));
    let rules = json!({
        "head": head,
        "margin": configuration.margin,
        "max_user_text_length": configuration.max_user_text_length,
        "action_rules": configuration.action_rules,
        "auto_reply": configuration.auto_reply().map(|action| &action.name),
    });
    let prompt = |name, text| Prompt { name, version: None, text };
    let mut prompts = vec![
        prompt("categories", json!(categories.collect::<Vec<_>>()).to_string()),
        prompt("examples", json!(examples.collect::<Vec<_>>()).to_string()),
        prompt("role", rules.to_string()),
    ];
    if strategy == Strategy::Llm {
        // The patterns decide which tickets the model is never asked about.
        let text = [llm::system(configuration, Language::German), llm::schema(configuration)];
        let text = [text.join("\n"), injection::prompt()].join("\n");
        prompts.push(Prompt { name: "triage", version: Some(llm::VERSION), text });
    }
    prompts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    const CONFIGURATION: &str = r#"{
        "categories": [{ "name": "Other" }, { "name": "Passport", "examples": ["my passport"] }],
        "no_category_name": "Other",
        "actions": [{ "name": "Read", "description": "a clerk reads it", "type": "NoAction" }],
        "no_action_name": "Read"
    }"#;

    fn texts(json: &str, head: Option<&str>) -> Vec<Prompt> {
        prompts(&Configuration::from_json(json).unwrap(), head, Strategy::Llm)
    }

    #[test]
    fn version_changes_with_its_input() {
        let before = texts(CONFIGURATION, Some("head"));
        let changed = |json: &str, head| {
            let after = texts(json, head);
            let pairs = before.iter().zip(&after).filter(|(one, other)| one != other);
            pairs.map(|(prompt, _)| prompt.name).collect::<Vec<_>>()
        };
        assert_eq!(
            before.iter().map(|prompt| prompt.name).collect::<Vec<_>>(),
            ["categories", "examples", "role", "triage"]
        );
        assert_eq!(changed(CONFIGURATION, None), ["role"]);
        assert_eq!(
            changed(&CONFIGURATION.replace("my passport", "my visa"), Some("head")),
            ["examples", "triage"]
        );
        assert_eq!(
            changed(&CONFIGURATION.replace("Passport", "Visa"), Some("head")),
            ["categories", "examples", "triage"]
        );
        let landlord = CONFIGURATION.replacen('{', "{ \"office\": \"a landlord\",", 1);
        assert_eq!(changed(&landlord, Some("head")), ["triage"]);
        let classifier =
            prompts(&Configuration::from_json(CONFIGURATION).unwrap(), None, Strategy::Classifier);
        assert_eq!(classifier.len(), 3);
        assert_eq!(before[3].version, Some(llm::VERSION));
    }
}
