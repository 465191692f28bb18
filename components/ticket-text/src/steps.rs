//! Tests that the work on a ticket grows linearly with its length. Components cut a ticket to 20,000 characters
//! first, so that only the cut sees more.

use bulkhead_steps::{Shape, assert_linear, assert_linear_text};

use crate::{clean, injection, language, redact, sentences, tokens, window};

/// Maximum number of characters read of a ticket.
const READ: usize = 20_000;

#[test]
fn window_steps_grow_with_a_mail() {
    let units = [("", "a"), ("", " "), ("", "a "), ("", "\u{10ffff}")];
    assert_linear_text(concat!(module_path!(), "::window_steps_grow_with_a_mail"), 1 << 20, &units, |text| {
        window::window(text, 1000)
    });
}

#[test]
fn clean_steps_grow_with_a_ticket() {
    let units = [
        ("", "a"),
        ("", " "),
        ("", "\n"),
        ("", "> a\n"),
        ("Guten Tag\n", "Danke\n"),
        ("", "Danke."),
        ("", "Von: a\n"),
        ("", "Am 3. Mai schrieb a:\n"),
        ("", "-----Original Message-----\n"),
        ("", "--\n"),
        ("", "\u{308}\u{327}"),
        ("", "Diese E-Mail "),
    ];
    assert_linear_text(concat!(module_path!(), "::clean_steps_grow_with_a_ticket"), READ, &units, |text| {
        clean::clean(text)
    });
}

#[test]
fn html_steps_grow_with_a_ticket() {
    let units = [
        ("<p>", "<b>"),
        ("<p>", "<p hidden>"),
        ("<p>", "</i>"),
        ("<p ", "a=b "),
        ("<p ", "a"),
        ("<p>", "&amp;"),
        ("<p>", "&"),
        ("<p>", "<"),
        ("<p>", "<!--"),
        ("<p>", "<style>a"),
        ("<p style='", "a:b;"),
        ("<p style='", "/*"),
        ("<blockquote>", "<blockquote>a"),
        ("<table>", "<tr><td>a"),
        ("<ul>", "<li>a"),
    ];
    assert_linear_text(concat!(module_path!(), "::html_steps_grow_with_a_ticket"), READ, &units, |text| {
        (clean::clean(text), clean::rows(text))
    });
}

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
fn language_steps_grow_with_a_ticket() {
    let units = [("", "a "), ("", "a. "), ("", "1. "), ("", "z.B. "), ("", ", "), ("", "a"), ("", ".")];
    assert_linear_text(
        concat!(module_path!(), "::language_steps_grow_with_a_ticket"),
        READ,
        &units,
        |text| {
            let clauses = sentences::clauses(text);
            let tenses = sentences::Tenses::new(text);
            let tensed = clauses.iter().filter_map(|clause| tenses.at(clause.start)).count();
            (language::detect(text), tensed, tokens::words(text))
        },
    );
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
