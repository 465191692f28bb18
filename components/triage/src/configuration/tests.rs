#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::{Value, json};

use super::*;

fn valid() -> Value {
    json!({
        "categories": [
            {"name": "Sonstiges"},
            {"name": "Abfall", "auto_publish": true, "description": "Tonnen\n\nSperrmüll", "examples": ["Die Tonne ist voll", " "],
             "threshold": 0.7, "extract": [{"name": "tonne", "pattern": "[0-9]+ Liter"}]},
            {"name": "Hunde"},
        ],
        "no_category_name": "Sonstiges",
        "actions": [
            {"name": "Sachbearbeitung", "description": "ein Mensch", "type": "NoAction"},
            {"name": "Antwort", "description": "", "type": "AIAnswer"},
        ],
        "no_action_name": "Sachbearbeitung",
        "no_action_internal_note": "{category}: {reason} ({{{action}}})",
        "action_rules": [{"category_name": "Abfall", "action_name": "Antwort"}],
    })
}

fn violations(change: impl Fn(&mut Value)) -> Vec<String> {
    let mut settings = valid();
    change(&mut settings);
    match Configuration::from_json(&settings.to_string()) {
        Ok(_) => Vec::new(),
        Err(Invalid(violations)) => violations,
    }
}

#[test]
fn a_valid_configuration_is_taken_over() {
    let configuration = Configuration::from_json(&valid().to_string()).unwrap();
    let waste = configuration.category("Abfall").unwrap();
    assert_eq!(waste.examples, ["Die Tonne ist voll", "Tonnen", "Sperrmüll"]);
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
fn all_violations_are_told_together() {
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
        "compares days_since_request with no whole number",
        "threshold of category \"Abfall\" is 1.5, it must be 0 to 1",
        "max_user_text_length is 0",
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
fn empty_and_blank_names_are_told() {
    assert!(
        violations(|settings| settings["actions"] = json!([]))
            .iter()
            .any(|line| line.contains("no action is configured"))
    );
    let blank = violations(|settings| settings["categories"][2]["name"] = json!(" "));
    assert_eq!(blank, ["a category has a blank name"]);
}

#[test]
fn unknown_members_and_types_are_told() {
    assert!(violations(|settings| settings["categoris"] = json!([]))[0].contains("categoris"));
    assert!(violations(|settings| settings["actions"][0]["type"] = json!("Nothing"))[0].contains("Nothing"));
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

/// A component checks what its host has checked, but for the patterns.
#[test]
fn what_the_host_has_checked_is_read_without_compiling() {
    let mut settings = valid();
    settings["categories"][1]["extract"][0]["pattern"] = json!("(");
    assert!(Configuration::from_json(&settings.to_string()).is_err());
    let configuration = Configuration::from_host(&settings.to_string()).unwrap();
    assert_eq!(configuration.category("Abfall").unwrap().extract[0].name(), "tonne");
    settings["no_action_name"] = json!("unknown");
    assert!(Configuration::from_host(&settings.to_string()).is_err());
}
