//! Tests of reading labelled tickets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn lines_become_tickets() {
    let tickets = read(
        "{\"text\": \"a\\nb\", \"category\": \"waste\", \"id\": 7}\n\n{\"text\": \"\", \"label\": \"x\", \"language\": \"de\"}\n",
    );
    let [first, second] = &tickets.unwrap()[..] else { panic!("two tickets") };
    assert_eq!(
        (first.text.as_str(), first.category.as_str(), first.language.as_deref()),
        ("a\nb", "waste", None)
    );
    assert_eq!(second.language.as_deref(), Some("de"));
}

#[test]
fn tickets_have_their_lines() {
    let line = "{\"text\": \"a\", \"category\": \"b\"}";
    let tickets = numbered(&format!("{line}\n\n{line}")).unwrap();
    assert_eq!(tickets.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn a_bad_line_is_named() {
    let error = read("{\"text\": \"a\", \"category\": \"b\"}\n{\"text\": 1}").unwrap_err().to_string();
    assert!(error.starts_with("line 2 is not a labelled ticket: "), "{error}");
}
