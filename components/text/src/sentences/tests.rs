//! Tests of the ends of sentences.

use super::*;

#[test]
fn marks_between_texts_may_end_sentences() {
    let text = "Er sagte \"Ja.\" Dann (nein!)  ging 3.5 er… fort.";
    let found: Vec<_> = ends(text).map(|end| (end.mark, end.closing, end.next)).collect();
    assert_eq!(
        found,
        [
            ('.', "\"", "Dann (nein!)  ging 3.5 er… fort."),
            ('!', ")", "ging 3.5 er… fort."),
            ('…', "", "fort."),
        ]
    );
    let ends: Vec<usize> = ends(text).map(|end| end.at()).collect();
    let parts = between(ends.into_iter(), text.len());
    let parts: Vec<_> = parts.into_iter().filter_map(|part| text.get(part)).collect();
    assert_eq!(parts, ["Er sagte \"Ja.\"", " Dann (nein!)", "  ging 3.5 er…", " fort."]);
}

#[test]
fn text_without_marks_is_one_part() {
    assert_eq!(ends("a.b? ").count(), 0);
    assert_eq!(between(std::iter::empty(), 5).first(), Some(&(0..5)));
}

#[test]
fn stop_of_a_date_is_recognised() {
    assert!(ends_with_date("Bis 31.12.") && !ends_with_date("Im Jahr 2025.") && !ends_with_date("1.2"));
}
