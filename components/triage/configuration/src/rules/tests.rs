//! Tests of conditions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn condition(field: Field, operator: Operator, value: Value) -> Condition {
    Condition { priority: 0, field, operator, value, action_name: "x".to_owned() }
}

#[test]
fn values_of_another_type_are_refused() {
    let check = |field, operator, value| condition(field, operator, value).check();
    assert!(check(Field::DaysSinceRequest, Operator::Less, Value::Boolean(true)).is_err());
    assert!(check(Field::DaysSinceRequest, Operator::Less, Value::Text("7".into())).is_err());
    assert!(check(Field::ProcessingId, Operator::Equals, Value::Integer(7)).is_err());
    assert!(check(Field::DaysSinceRequest, Operator::Less, Value::Integer(7)).is_ok());
}
