//! Tests of violations of the form of a configuration.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_triage_configuration::pattern::PatternType;
use serde_json::json;

use super::entry::Kind;
use super::*;

/// The configuration without violations of the tests of meaning.
fn valid() -> Value {
    let text = include_str!("../../../../../../components/triage/configuration/src/tests/valid.json");
    serde_json::from_str(text).unwrap()
}

fn violations(change: impl Fn(&mut Value)) -> Vec<String> {
    let mut settings = valid();
    change(&mut settings);
    match Reading::new(settings).check_all() {
        Ok(_) => Vec::new(),
        Err(Invalid(violations)) => violations.iter().map(ToString::to_string).collect(),
    }
}

/// Reports form and meaning together, without violations that only follow from others.
#[test]
fn form_violations_name_their_path() {
    let found = violations(|settings| {
        settings["categoris"] = json!([]);
        settings["margin"] = json!("wide");
        settings["max_user_text_length"] = json!(-1);
        settings["categories"][0]["auto_publish"] = json!("on");
        settings["categories"][1]["threshold"] = json!(1.5);
        settings["categories"][1]["examples"] = json!(["voll", 7]);
        settings["categories"][1]["extract"][0] = json!({"name": "tonne", "type": "liter"});
        settings["actions"][0] = json!({"name": "Sachbearbeitung", "type": "Nothing"});
        settings["actions"][1]["type"] = json!("StaticAnswer");
        settings["actions"][1]["answer"] = json!(["a"]);
        settings["action_rules"] = json!([
            {"category_name": "Abfall", "conditions": [
                {"priority": "1", "field": "days", "operator": "<", "value": null, "action_name": "Nichts"},
                7,
            ]},
            {"category_name": "Abfal", "action_name": "Antwort"},
        ]);
        settings["preparser"] =
            json!({"enabled": true, "config": {"type": "form", "value_column": 1.5, "rows": []}});
    });
    let expected = [
        "categories[0].auto_publish: is \"on\", it must be true or false",
        "categories[1].examples[1]: is 7, it must be text",
        "categories[1].extract[0].pattern: is missing, it must be text",
        "categories[1].extract[0].type: is \"liter\", it must be one of text, integer, number, date, iban, email",
        "actions[0].description: is missing, it must be text",
        "actions[0].type: is \"Nothing\", it must be one of AIAnswer, NoAction, StaticAnswer",
        "actions[1].answer: is a list, it must be text",
        "action_rules[0].action_name: is missing, it must be text",
        "action_rules[0].conditions[0].priority: is \"1\", it must be a whole number",
        "action_rules[0].conditions[0].field: is \"days\", it must be one of days_since_request, processing_id",
        "action_rules[0].conditions[0].operator: is \"<\", it must be one of equals, not_equals, less, less_equals, greater, \
         greater_equals",
        "action_rules[0].conditions[0].value: is missing, it must be true or false, a whole number or text",
        "action_rules[0].conditions[1]: is 7, it must be a table",
        "margin: is \"wide\", it must be a number",
        "max_user_text_length: is -1, it must be a whole number, 0 or more",
        "preparser.config.type: is \"form\", it must be table",
        "preparser.config.value_column: is 1.5, it must be a whole number, 0 or more",
        "preparser.config.rows: unknown member; known here: type, keep_rows, case_sensitive, value_column",
        "categoris: unknown member; known here: categories, no_category_name, actions, no_action_name, auto_reply, \
         office, no_action_internal_note, action_rules, threshold, margin, max_user_text_length, preparser",
        "action_rules[0].conditions[0].action_name: a condition of the rule for category \"Abfall\" leads to the unknown \
         action \"Nichts\"",
        "action_rules[1].category_name: the rule for category \"Abfal\" names no category",
        "categories[1].threshold: threshold of category \"Abfall\" is 1.5, it must be 0 to 1",
    ];
    for line in expected {
        assert!(found.iter().any(|violation| violation == line), "{line:?} is not in {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn unreadable_names_cause_no_other_violations() {
    let found = violations(|settings| settings["categories"] = json!("Abfall"));
    assert_eq!(found, ["categories: is \"Abfall\", it must be a list"]);
    let found = violations(|settings| settings["actions"][1]["name"] = json!(5));
    assert_eq!(found, ["actions[1].name: is 5, it must be text"]);
    let found = violations(|settings| *settings = json!(null));
    assert_eq!(found, ["is nothing, it must be a table"]);
}

#[test]
fn words_name_what_is_read() {
    fn each<T: Kind>() {
        for word in T::WORDS.trim_start_matches("one of ").split(", ") {
            serde_json::from_value::<T>(json!(word)).map(drop).expect(word);
        }
    }
    each::<ActionType>();
    each::<Field>();
    each::<Operator>();
    each::<PatternType>();
    each::<FormType>();
}
