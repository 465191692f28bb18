//! How the work of what reads a ticket grows with the ticket, of which at most 20,000 characters are read.

use bulkhead_steps::assert_linear_text;
use bulkhead_ticket_text::extract::date::{Date, Month};

use crate::evidence::evidence;
use crate::features::FeatureSettings;
use crate::preparser::{Form, PreparserSettings, TableSettings};
use crate::request;
use crate::triage::MOST_READ;

#[test]
fn request_steps_grow_with_a_ticket() {
    let today = Date::from_calendar_date(2026, Month::May, 3).unwrap_or(Date::MIN);
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
    assert_linear_text(test, MOST_READ, &units, |text| request::facts(text, text, today));
}

#[test]
fn table_steps_grow_with_a_ticket() {
    let table = TableSettings { keep_rows: vec!["a".to_owned()], case_sensitive: false, value_column: 1 };
    let settings = PreparserSettings { enabled: true, config: Some(Form::Table(table)) };
    let units =
        [("", "|"), ("", "|a|b|\n"), ("", "\\|"), ("<table>", "<tr><td>a<td>b"), ("<table>", "<table>")];
    let test = concat!(module_path!(), "::table_steps_grow_with_a_ticket");
    assert_linear_text(test, MOST_READ, &units, |text| settings.apply(text));
}

#[test]
fn feature_steps_grow_with_a_ticket() {
    let examples = ["Meine Tonne wurde nicht geleert.".to_owned(), "a b c d e f".to_owned()];
    let settings = FeatureSettings::words_and_characters(18);
    let units = [("", "a"), ("", "a "), ("", "Tonne "), ("", "\u{308}")];
    let test = concat!(module_path!(), "::feature_steps_grow_with_a_ticket");
    assert_linear_text(test, MOST_READ, &units, |text| (settings.row(text), evidence(text, &examples)));
}
