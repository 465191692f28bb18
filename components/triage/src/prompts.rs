//! What decisions hang on, under the names of the prompts that the replaced service had: whoever compares two hosts
//! sees by them whether they decide alike.

use serde_json::json;

use crate::configuration::Configuration;

/// Each by its name, as text that changes when a decision may.
pub fn prompts(configuration: &Configuration, head: Option<&str>) -> Vec<(&'static str, String)> {
    let categories = configuration.categories.iter();
    let categories =
        categories.map(|category| json!([category.name, category.threshold, category.auto_publish]));
    let examples = configuration.categories.iter().map(|category| json!([category.name, category.examples]));
    let rules = json!({
        "head": head,
        "margin": configuration.margin,
        "max_user_text_length": configuration.max_user_text_length,
        "action_rules": configuration.action_rules,
    });
    vec![
        ("categories", json!(categories.collect::<Vec<_>>()).to_string()),
        ("examples", json!(examples.collect::<Vec<_>>()).to_string()),
        ("role", rules.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const CONFIGURATION: &str = r#"{
        "categories": [{ "name": "Other" }, { "name": "Passport", "examples": ["my passport"] }],
        "no_category_name": "Other",
        "actions": [{ "name": "Read", "description": "a clerk reads it", "type": "NoAction" }],
        "no_action_name": "Read"
    }"#;

    fn texts(json: &str, head: Option<&str>) -> Vec<(&'static str, String)> {
        prompts(&Configuration::from_json(json).unwrap(), head)
    }

    #[test]
    fn each_changes_with_what_it_stands_for() {
        let before = texts(CONFIGURATION, Some("head"));
        let changed = |json: &str, head| {
            let after = texts(json, head);
            let pairs = before.iter().zip(&after).filter(|(one, other)| one != other);
            pairs.map(|((name, _), _)| *name).collect::<Vec<_>>()
        };
        assert_eq!(
            before.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["categories", "examples", "role"]
        );
        assert_eq!(changed(CONFIGURATION, None), ["role"]);
        assert_eq!(changed(&CONFIGURATION.replace("my passport", "my visa"), Some("head")), ["examples"]);
        assert_eq!(
            changed(&CONFIGURATION.replace("Passport", "Visa"), Some("head")),
            ["categories", "examples"]
        );
    }
}
