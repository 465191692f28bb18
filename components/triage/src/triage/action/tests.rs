//! Tests of the action for a category.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn facts(days_since_request: Option<i64>) -> Facts {
    Facts { days_since_request, ..Facts::default() }
}

fn configuration(rules: &str) -> Configuration {
    let json = format!(
        r#"{{"categories": [{{"name": "none"}}, {{"name": "waste"}}, {{"name": "dogs"}}], "no_category_name": "none",
        "actions": [{{"name": "clerk", "description": "", "type": "NoAction"}}, {{"name": "answer", "description": "", "type": "AIAnswer"}},
        {{"name": "wait", "description": "", "type": "StaticAnswer", "answer": "Please wait."}}],
        "no_action_name": "clerk", "action_rules": {rules}}}"#
    );
    Configuration::from_json(&json).unwrap()
}

#[test]
fn rules_lead_to_actions() {
    let configuration = configuration(
        r#"[{"category_name": "waste", "action_name": "answer", "conditions": [
            {"priority": 5, "field": "days_since_request", "operator": "less", "value": 100, "action_name": "answer"},
            {"priority": 1, "field": "days_since_request", "operator": "less", "value": 14, "action_name": "wait"}]},
        {"category_name": "waste", "action_name": "wait"}, {"category_name": "none", "action_name": "wait"}]"#,
    );
    let action = |category, days| action_name(&configuration, category, &facts(days));
    assert_eq!(action("waste", None), "answer", "no condition is met");
    assert_eq!(action("waste", Some(3)), "wait", "both are met: the lower priority counts");
    assert_eq!(action("waste", Some(50)), "answer");
    assert_eq!(action("dogs", Some(3)), "clerk", "no rule");
    assert_eq!(action("none", Some(3)), "clerk", "rules for no category never count");
    assert_eq!(action("made up", None), "clerk");
}

#[test]
fn of_equal_priorities_the_first_counts() {
    let configuration = configuration(
        r#"[{"category_name": "dogs", "action_name": "clerk", "conditions": [
            {"priority": 1, "field": "processing_id", "operator": "equals", "value": "unknown", "action_name": "wait"},
            {"priority": 1, "field": "processing_id", "operator": "equals", "value": "unknown", "action_name": "answer"}]}]"#,
    );
    assert_eq!(action_name(&configuration, "dogs", &Facts::default()), "wait");
}
