//! Tests of extracted values.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_ticket_text::extract::date::Month;
use bulkhead_ticket_text::extract::find;
use bulkhead_triage_configuration::pattern::{PatternSettings, PatternType};

use super::*;

fn today() -> Date {
    Date::from_calendar_date(2026, Month::November, 28).unwrap()
}

fn pattern(name: &str, expression: &str, kind: PatternType) -> Pattern {
    Pattern::new(PatternSettings { name: name.into(), pattern: expression.into(), kind }).unwrap()
}

#[test]
fn values_are_typed_and_numbered() {
    let patterns = [
        pattern("liter", "([0-9.]+) Liter", PatternType::Integer),
        pattern("betrag", "([0-9.,]+) ?(?:€|Euro)", PatternType::Number),
        pattern("phone", "Durchwahl ([0-9]+)", PatternType::Text),
        pattern("termin", "Termin am ([0-9. ]+)", PatternType::Date),
        pattern("fehlt", "nicht da", PatternType::Text),
    ];
    let text = "1.100 Liter für 1.234,50 €, Durchwahl 77, Termin am 31.06.2026, Termin am 01.07.2026, am 2.7.2026 und am 01.07.2026";
    let values = extract(text, find(text, today()), today(), &patterns);
    assert_eq!(values["liter"], Value::Integer(1100));
    assert_eq!(values["betrag"], Value::Number(1234.5));
    assert_eq!(values["phone"], Value::Text("77".into()), "a configured name wins");
    assert_eq!(values["termin"], Value::Text("2026-07-01".into()), "the first match is not a date");
    assert_eq!(values["date_2"], Value::Text("2026-07-02".into()));
    assert_eq!(values.len(), 6, "{values:?}");
}

#[test]
fn numbers_are_read_as_germans_write_them() {
    let read = |text: &str, kind| pattern::find(&pattern("zahl", "([-0-9.,' ]+)", kind), text, today());
    for (text, number) in [
        ("1.234", 1234.0),
        ("1.234,50", 1234.5),
        ("12.50", 12.5),
        ("12,5", 12.5),
        ("1.234.567", 1_234_567.0),
        ("1,234.50", 1234.5),
        ("1 234,5", 1234.5),
        ("1234.567", 1234.567),
        ("0.125", 0.125),
        ("-3,5", -3.5),
        ("15,-", 15.0),
        ("12.", 12.0),
    ] {
        assert_eq!(read(text, PatternType::Number), Some(Value::Number(number)), "{text}");
    }
    for (text, number) in [
        ("1.234", Some(1234)),
        ("1.234,00", Some(1234)),
        ("12345678901234567", Some(12_345_678_901_234_567)),
        ("007", Some(7)),
        ("12.50", None),
        ("12,5", None),
        ("1.2.3", None),
    ] {
        assert_eq!(read(text, PatternType::Integer), number.map(Value::Integer), "{text}");
    }
}

#[test]
fn checked_pattern_matches_the_same() {
    let settings = |pattern: &str| PatternSettings {
        name: "liter".into(),
        pattern: pattern.into(),
        kind: PatternType::Integer,
    };
    let find = |pattern: &str| {
        pattern::find(&Pattern::checked(settings(pattern)), "Eine Tonne mit 1.100 Liter", today())
    };
    assert_eq!(find("([0-9.]+) Liter"), Some(Value::Integer(1100)));
    assert_eq!(find("("), None, "it was not checked");
}
