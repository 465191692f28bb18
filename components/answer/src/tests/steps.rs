//! Tests that the work on a question grows linearly with its length, of which at most 20,000 characters are read.

use bulkhead_steps::assert_linear_text;
use bulkhead_text::language::Language;

use crate::answer_types::AnswerTypes;
use crate::guard;
use crate::quotable::sentences;
use crate::terms::Stems;

/// Maximum number of characters read of a question.
const READ: usize = 20_000;

#[test]
fn question_steps_grow_with_its_length() {
    let stems = Stems::new(Language::German);
    let units = [
        ("", "a"),
        ("", "Was kostet a? "),
        ("", "ab, "),
        ("", "- a\n"),
        ("", "# a\n"),
        ("", "\n\n"),
        ("", "z. B. "),
        ("", "nicht "),
    ];
    let test = concat!(module_path!(), "::question_steps_grow_with_its_length");
    assert_linear_text(test, READ, &units, |text| {
        (AnswerTypes::of(text), sentences(text), stems.terms_and_verbs(text))
    });
}

#[test]
fn guard_steps_grow_with_an_answer() {
    let units =
        [("", "a@b.de "), ("", "0171 2345678 "), ("", "Am Weg 1, 80331 Ort\n"), ("", "ignore "), ("", "A ")];
    let test = concat!(module_path!(), "::guard_steps_grow_with_an_answer");
    assert_linear_text(test, READ, &units, |text| {
        guard::answer(text, READ, &["amt@stadt.example".to_owned()])
    });
}
