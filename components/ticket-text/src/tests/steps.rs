//! Tests that the work on a ticket grows linearly with its length, of which components read 20,000 characters.

use bulkhead_steps::{Shape, assert_linear, assert_linear_text};
use bulkhead_text::clean;

use crate::{injection, redact, sentences};

/// Maximum number of characters read of a ticket.
const READ: usize = 20_000;

#[test]
fn redact_steps_grow_with_a_ticket() {
    let units = [
        ("", "[A_1] "),
        ("", "Herr Meier "),
        ("Mein Name ist Anna ", "Anna "),
        ("", "Am Weg 1, 80331 Ort\n"),
        ("", "A"),
        ("", "Aa "),
        ("", "Aa\n"),
        ("", "12345678 "),
        ("", "https://a/?b=1&"),
        ("", "MfG\nAnna\n"),
        ("", "von und zu "),
    ];
    assert_linear_text(concat!(module_path!(), "::redact_steps_grow_with_a_ticket"), READ, &units, |text| {
        redact::redact_part(text, text)
    });
}

#[test]
fn redact_steps_grow_with_distinct_values() {
    let numbered = |unit: fn(usize) -> String| {
        move |bytes: usize| (0..bytes / unit(0).len()).map(unit).collect::<String>()
    };
    let numbers = numbered(|number| format!("4{number:07} "));
    let addresses = numbered(|number| format!("a{number:04}@b.de "));
    let names = numbered(|number| {
        let letter = |place: usize| char::from(b'a' + (number / place % 26) as u8);
        format!("Herr Me{}{}{}er, ", letter(676), letter(26), letter(1))
    });
    let shapes: [Shape<'_, String>; 3] =
        [("numbers", &numbers), ("addresses", &addresses), ("names", &names)];
    let test = concat!(module_path!(), "::redact_steps_grow_with_distinct_values");
    assert_linear(test, READ, &shapes, |text| redact::redact_part(text, text));
}

#[test]
fn sentence_steps_grow_with_a_ticket() {
    let units = [("", "a "), ("", "a. "), ("", "1. "), ("", "z.B. "), ("", ", "), ("", "a"), ("", ".")];
    let test = concat!(module_path!(), "::sentence_steps_grow_with_a_ticket");
    assert_linear_text(test, READ, &units, |text| {
        let clauses = sentences::clauses(text);
        let tenses = sentences::Tenses::new(text);
        clauses.iter().filter_map(|clause| tenses.at(clause.start)).count()
    });
}

#[test]
fn injection_steps_grow_with_a_ticket() {
    let units = [
        ("", "ignore "),
        ("", "ignore all previous "),
        ("", "\u{200b}i"),
        ("", "i g n o r e "),
        ("<p hidden>", "ignore "),
        ("", "aWdub3Jl"),
    ];
    assert_linear_text(
        concat!(module_path!(), "::injection_steps_grow_with_a_ticket"),
        READ,
        &units,
        |text| injection::is_injected_ticket(text, &clean::render(text)),
    );
}
