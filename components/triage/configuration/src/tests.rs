//! Tests of configurations and their violations.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::{Value, json};

use super::*;

/// A configuration without violations.
fn valid() -> Value {
    serde_json::from_str(include_str!("tests/valid.json")).unwrap()
}

fn violations(change: impl Fn(&mut Value)) -> Vec<String> {
    let mut settings = valid();
    change(&mut settings);
    match Configuration::from_json(&settings.to_string()) {
        Ok(_) => Vec::new(),
        Err(Invalid(violations)) => violations.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_valid_configuration_is_taken_over() {
    let configuration = Configuration::from_json(&valid().to_string()).unwrap();
    let waste = configuration.category("Abfall").unwrap();
    assert_eq!(*waste.examples, ["Die Tonne ist voll", "Tonnen", "Sperrmüll"]);
    assert_eq!(waste.examples.labelled(), 1);
    assert!((waste.threshold - 0.7).abs() < 1e-6 && waste.auto_publish);
    let dogs = configuration.category("Hunde").unwrap();
    assert!((dogs.threshold - DEFAULT_THRESHOLD).abs() < 1e-6 && !dogs.auto_publish);
    let without: Vec<&str> =
        configuration.without_examples().map(|category| category.name.as_str()).collect();
    assert_eq!(without, ["Hunde"]);
    assert_eq!(configuration.action("nicht da").unwrap().name, "Sachbearbeitung");
    assert_eq!(configuration.max_user_text_length, 2000);
    let note = configuration.internal_note("Hunde", "Antwort", "unklar").unwrap();
    assert_eq!(note, "Hunde: unklar ({Antwort})");
}

#[test]
fn all_violations_are_reported_together() {
    let found = violations(|settings| {
        settings["categories"][2]["name"] = json!("Abfall");
        settings["categories"][1]["threshold"] = json!(1.5);
        settings["categories"][1]["extract"] = json!([{"name": "a", "pattern": "("}, {"name": "b", "pattern": "x"}, {"name": "b", "pattern": "y"}]);
        settings["no_category_name"] = json!("fehlt");
        settings["actions"][1] =
            json!({"name": "fest", "description": "", "type": "StaticAnswer", "answer": "  "});
        settings["no_action_name"] = json!("fehlt auch");
        settings["no_action_internal_note"] = json!("{grund}");
        settings["action_rules"] = json!([{"category_name": "Luft", "action_name": "Leere", "conditions": [
            {"priority": 1, "field": "days_since_request", "operator": "less", "value": "7", "action_name": "Nichts"}]}]);
        settings["max_user_text_length"] = json!(0);
        settings["office"] = json!(" ");
        settings["preparser"] = json!({"enabled": true});
    });
    let expected = [
        "category \"Abfall\" is configured twice",
        "no_category_name \"fehlt\" names no category",
        "no_action_name \"fehlt auch\" names no action",
        "action \"fest\" is a StaticAnswer without an answer",
        "no_action_internal_note has the unknown placeholder {grund}",
        "the rule for category \"Luft\" names no category",
        "leads to the unknown action \"Leere\"",
        "leads to the unknown action \"Nichts\"",
        "compares days_since_request with a value that is not a whole number",
        "threshold of category \"Abfall\" is 1.5, it must be 0 to 1",
        "max_user_text_length is 0",
        "office is blank",
        "preparser is enabled without a config",
        "pattern \"a\" of category \"Abfall\"",
        "pattern \"b\" of category \"Abfall\" is configured twice",
    ];
    for part in expected {
        assert!(found.iter().any(|violation| violation.contains(part)), "{part:?} is not in {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn auto_reply_must_not_answer() {
    let refused = |name: &str| violations(|settings| settings["auto_reply"] = json!(name));
    assert_eq!(
        refused("Antwort"),
        ["auto_reply: auto_reply \"Antwort\" must be a NoAction: programs would answer each other"]
    );
    assert_eq!(refused("Ablage"), ["auto_reply: auto_reply \"Ablage\" names no action"]);
    let mut settings = valid();
    let action =
        |settings: &Value| Configuration::from_json(&settings.to_string()).unwrap().auto_reply().cloned();
    assert_eq!(action(&settings).unwrap().name, "Sachbearbeitung");
    settings["actions"][1] = json!({"name": "Ablage", "description": "", "type": "NoAction"});
    settings["action_rules"] = json!([]);
    settings["auto_reply"] = json!("Ablage");
    assert_eq!(action(&settings).unwrap().name, "Ablage");
}

#[test]
fn empty_and_blank_names_are_violations() {
    assert!(
        violations(|settings| settings["actions"] = json!([]))
            .iter()
            .any(|line| line.contains("no action is configured"))
    );
    let blank = violations(|settings| settings["categories"][2]["name"] = json!(" "));
    assert_eq!(blank, ["categories[2].name: a category has a blank name"]);
}

#[test]
fn lines_are_those_of_the_places() {
    let invalid = Invalid(vec![Violation::at("actions[0]", "b"), Violation::at("margin", "a")]);
    let located = invalid.located(|path| Some(if path == "margin" { 3 } else { 7 }));
    assert_eq!(
        located.to_string(),
        "invalid triage configuration:\n- line 3: margin: a\n- line 7: actions[0]: b"
    );
}

#[test]
fn braces_without_partners_are_refused() {
    for note in ["{category", "category}", "{", "a {} b"] {
        assert_eq!(
            violations(|settings| settings["no_action_internal_note"] = json!(note)).len(),
            1,
            "{note}"
        );
    }
}

#[test]
fn checked_configuration_has_the_same_examples() {
    let json = valid().to_string();
    let [whole, checked] =
        [Configuration::from_json(&json), Configuration::from_host(&json)].map(Result::unwrap);
    for (one, other) in whole.categories.iter().zip(&checked.categories) {
        assert_eq!((&one.name, &*one.examples), (&other.name, &*other.examples));
    }
    let waste = checked.category("Abfall").unwrap();
    assert_eq!(*waste.examples.clone(), ["Die Tonne ist voll", "Tonnen", "Sperrmüll"]);
    let mut settings = valid();
    settings["categories"][1]["description"] = json!(null);
    settings["categories"][1]["examples"] = json!(["Stra\u{df}e \"A\"\n\u{1f5d1}"]);
    let checked = Configuration::from_host(&settings.to_string()).unwrap();
    assert_eq!(*checked.category("Abfall").unwrap().examples, ["Straße \"A\"\n🗑"]);
    settings["categories"][1]["example"] = json!([]);
    assert!(Configuration::from_host(&settings.to_string()).is_err(), "an unknown member");
}

/// The component repeats the host's checks, except those of patterns.
#[test]
fn checked_configuration_compiles_no_patterns() {
    let mut settings = valid();
    settings["categories"][1]["extract"][0]["pattern"] = json!("(");
    assert!(Configuration::from_json(&settings.to_string()).is_err());
    let configuration = Configuration::from_host(&settings.to_string()).unwrap();
    assert_eq!(configuration.category("Abfall").unwrap().extract[0].name(), "tonne");
    settings["no_action_name"] = json!("unknown");
    assert!(Configuration::from_host(&settings.to_string()).is_err());
}
