//! Tests that the work on a ticket grows linearly with its length, of which at most 20,000 characters are read.

use bulkhead_steps::assert_linear_text;
use bulkhead_ticket_text::extract::date::{Date, Month};
use bulkhead_ticket_text::extract::find;
use bulkhead_triage_features::MOST_READ;

use crate::evidence::evidence;
use crate::extraction::extract;
use crate::request;

fn today() -> Date {
    Date::from_calendar_date(2026, Month::May, 3).unwrap_or(Date::MIN)
}

#[test]
fn request_steps_grow_with_a_ticket() {
    let long = format!("{}. ", "Antrag vom 3. Mai, ".repeat(30));
    let units = [
        ("", "Antrag vom 3. Mai, "),
        ("", "vor drei Wochen beantragt. "),
        ("", &long),
        ("", "gestellt "),
        ("", "vor "),
        ("", "Az. 12/34-5 "),
        ("", "a, "),
        ("", "1."),
    ];
    let test = concat!(module_path!(), "::request_steps_grow_with_a_ticket");
    assert_linear_text(test, MOST_READ, &units, |text| {
        request::facts(text, text, &find(text, today()), today())
    });
}

#[test]
fn extract_steps_grow_with_a_ticket() {
    let units = [
        ("", "1.1. "),
        ("", "3. Mai "),
        ("", "0171 2345678, "),
        ("", "1"),
        ("", "1 "),
        ("", "a@b.de "),
        ("", "a@"),
        ("", "M-AB 123 "),
        ("", "M-"),
        ("", "DE89 3704 0044 0532 0130 00 "),
        ("", "DE"),
        ("", "Az. 12/34-5 "),
        ("", "Ticket #1"),
        ("", "am 3. Mai, "),
        ("", "1.1.,"),
    ];
    assert_linear_text(
        concat!(module_path!(), "::extract_steps_grow_with_a_ticket"),
        MOST_READ,
        &units,
        |text| extract(text, find(text, today()), today(), &[]),
    );
}

#[test]
fn evidence_steps_grow_with_a_ticket() {
    let examples = ["Meine Tonne wurde nicht geleert.".to_owned(), "a b c d e f".to_owned()];
    let units = [("", "a"), ("", "a "), ("", "Tonne "), ("", "\u{308}")];
    let test = concat!(module_path!(), "::evidence_steps_grow_with_a_ticket");
    assert_linear_text(test, MOST_READ, &units, |text| evidence(text, &examples));
}
