#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::conditions::{Field, Operator, Value};
use super::*;

fn condition(priority: i64, field: Field, operator: Operator, value: Value, action: &str) -> Condition {
    Condition { priority, field, operator, value, action_name: action.to_owned() }
}

fn days(operator: Operator, value: i64) -> Condition {
    condition(0, Field::DaysSinceRequest, operator, Value::Integer(value), "other")
}

fn facts(days: Option<i64>, id: Option<&str>) -> Facts {
    Facts { days_since_request: days, processing_id: id.map(str::to_owned) }
}

#[test]
fn days_compare_as_numbers() {
    use Operator::{Equals, Greater, GreaterEquals, Less, LessEquals, NotEquals};
    for (operator, met) in [
        (Equals, [false, true, false]),
        (NotEquals, [true, false, true]),
        (Less, [true, false, false]),
        (LessEquals, [true, true, false]),
        (Greater, [false, false, true]),
        (GreaterEquals, [false, true, true]),
    ] {
        let found = [9, 10, 11].map(|said| days(operator, 10).is_met(&facts(Some(said), None)));
        assert_eq!(found, met, "{operator:?}");
    }
}

#[test]
fn what_is_not_said_stands_in_no_order() {
    use Operator::{Equals, Greater, GreaterEquals, Less, LessEquals, NotEquals};
    for operator in [Equals, Less, LessEquals, Greater, GreaterEquals] {
        assert!(!days(operator, 0).is_met(&facts(None, None)), "{operator:?}");
    }
    assert!(days(NotEquals, 0).is_met(&facts(None, None)));
}

#[test]
fn processing_ids_compare_as_text_and_unknown_is_a_value() {
    let with =
        |operator, value: &str| condition(0, Field::ProcessingId, operator, Value::Text(value.into()), "x");
    assert!(with(Operator::Equals, "A-1").is_met(&facts(None, Some("A-1"))));
    assert!(!with(Operator::Equals, "A-1").is_met(&facts(None, None)));
    assert!(with(Operator::Equals, "unknown").is_met(&facts(None, None)));
    assert!(!with(Operator::NotEquals, "unknown").is_met(&facts(None, None)));
    assert!(with(Operator::NotEquals, "unknown").is_met(&facts(None, Some("A-1"))));
    assert!(!with(Operator::LessEquals, "unknown").is_met(&facts(None, None)));
}

#[test]
fn values_of_another_type_are_refused() {
    let boolean = condition(0, Field::DaysSinceRequest, Operator::Less, Value::Boolean(true), "x");
    assert!(boolean.check().is_err());
    assert!(
        condition(0, Field::DaysSinceRequest, Operator::Less, Value::Text("7".into()), "x").check().is_err()
    );
    assert!(condition(0, Field::ProcessingId, Operator::Equals, Value::Integer(7), "x").check().is_err());
    assert!(days(Operator::Less, 7).check().is_ok());
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
    let action = |category, days| action_name(&configuration, category, &facts(days, None));
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
