//! Tests that the work on a ticket grows linearly with its length. Components cut a ticket to 20,000 characters
//! first, so that only the cut sees more.

use bulkhead_steps::assert_linear_text;

use crate::{clean, language, tokens, window};

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
fn language_steps_grow_with_a_ticket() {
    let units = [("", "a "), ("", "a. "), ("", "1. "), ("", "z.B. "), ("", ", "), ("", "a"), ("", ".")];
    let test = concat!(module_path!(), "::language_steps_grow_with_a_ticket");
    assert_linear_text(test, READ, &units, |text| (language::detect(text), tokens::words(text)));
}
