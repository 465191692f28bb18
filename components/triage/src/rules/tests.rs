//! Tests of action rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

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
        let found = [9, 10, 11].map(|said| is_met(&days(operator, 10), &facts(Some(said), None)));
        assert_eq!(found, met, "{operator:?}");
    }
}

#[test]
fn missing_fact_has_no_order() {
    use Operator::{Equals, Greater, GreaterEquals, Less, LessEquals, NotEquals};
    for operator in [Equals, Less, LessEquals, Greater, GreaterEquals] {
        assert!(!is_met(&days(operator, 0), &facts(None, None)), "{operator:?}");
    }
    assert!(is_met(&days(NotEquals, 0), &facts(None, None)));
}

#[test]
fn processing_ids_compare_as_text() {
    let with =
        |operator, value: &str| condition(0, Field::ProcessingId, operator, Value::Text(value.into()), "x");
    assert!(is_met(&with(Operator::Equals, "A-1"), &facts(None, Some("A-1"))));
    assert!(!is_met(&with(Operator::Equals, "A-1"), &facts(None, None)));
    assert!(is_met(&with(Operator::Equals, "unknown"), &facts(None, None)));
    assert!(!is_met(&with(Operator::NotEquals, "unknown"), &facts(None, None)));
    assert!(is_met(&with(Operator::NotEquals, "unknown"), &facts(None, Some("A-1"))));
    assert!(!is_met(&with(Operator::LessEquals, "unknown"), &facts(None, None)));
}
