//! Tests of the comparison of values.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn record(name: &str, level: &str) -> Val {
    let members = vec![
        ("name".to_owned(), Val::String(name.to_owned())),
        ("level".to_owned(), Val::Enum(level.to_owned())),
        ("counts".to_owned(), Val::List(vec![Val::U32(1), Val::U32(2)])),
    ];
    Val::Result(Ok(Some(Box::new(Val::Record(members)))))
}

#[test]
fn equal_values_have_no_differences() {
    assert_eq!(differences(&record("a", "ok"), &record("a", "ok")), [""; 0]);
    assert_eq!(differences(&Val::Float64(f64::NAN), &Val::Float64(f64::NAN)), [""; 0]);
}

#[test]
fn difference_names_path_and_values() {
    let lines = differences(&record("a", "warning"), &record("b", "ok"));
    assert_eq!(lines, ["ok.name: expected \"a\", found \"b\"", "ok.level: expected warning, found %ok"]);
    let error = Val::Result(Err(Some(Box::new(Val::String("no".to_owned())))));
    let lines = differences(&record("a", "ok"), &error);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("expected ok(") && lines[0].ends_with("found err(\"no\")"), "{lines:?}");
    let lines = differences(&Val::List(vec![Val::U8(1)]), &Val::List(Vec::new()));
    assert_eq!(lines, ["expected [1], found []"]);
    let lines = differences(&Val::List(vec![Val::U8(1)]), &Val::List(vec![Val::U8(2)]));
    assert_eq!(lines, ["[0]: expected 1, found 2"]);
}

#[test]
fn only_results_are_errors() {
    let error_value = Val::Result(Err(None));
    assert_eq!(error(&error_value), Some(None));
    assert_eq!(error(&record("a", "ok")), None);
}
