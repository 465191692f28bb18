//! Parsing of the language model's reply.

use bulkhead_ticket_text::llm::one_line;
use serde::Deserialize;

use crate::references::replace_marks;

/// A reply in the requested form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) sentences: Vec<Sentence>,
}

/// One sentence and the numbers of its passages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) passages: Vec<i64>,
}

/// Returns one line without the reference marks `[1]`, `[1, 2]` and `【1†source】` that models append; marks in square
/// brackets whose content is `kept` stay.
pub(super) fn tidy(text: &str, kept: impl Fn(&str) -> bool) -> String {
    let tidied = replace_marks(text, |open, mark| {
        let is_reference = match open {
            '[' => numbers(mark).is_some() && !kept(mark),
            // Some models are trained to write these, and pages never have them.
            _ => mark.trim_start().starts_with(|sign: char| sign.is_ascii_digit()),
        };
        is_reference.then(String::new)
    });
    // A removed mark may leave a space before the end of its sentence.
    [" .", " ,", " !", " ?"].iter().fold(one_line(&tidied), |text, gap| text.replace(gap, gap.trim_start()))
}

/// Returns the numbers in the brackets of a mark; `None` if it holds anything else.
pub(super) fn numbers(mark: &str) -> Option<Vec<usize>> {
    let number = |number: &str| {
        let digits = Some(number.trim()).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        digits.filter(|digits| !digits.is_empty()).map(|digits| digits.parse().unwrap_or(usize::MAX))
    };
    mark.split(',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_references_are_taken_out() {
        for (text, expected) in [
            ("Es kostet 70 Euro [1].", "Es kostet 70 Euro."),
            ("Es kostet 70 Euro. [1][2]", "Es kostet 70 Euro."),
            ("Es kostet [1, 2] 70\nEuro", "Es kostet 70 Euro"),
            ("Der Reisepass hat 32 Seiten 【3】.", "Der Reisepass hat 32 Seiten."),
            (
                "Es kostet 70 Euro【1†source】【2】. Siehe 【x】 und 【",
                "Es kostet 70 Euro. Siehe 【x】 und 【",
            ),
            ("An [NAME_1], [x], [ und []", "An [NAME_1], [x], [ und []"),
        ] {
            assert_eq!(tidy(text, |_| false), expected);
        }
        assert_eq!(tidy("Es gilt 70 [12]【12】.", |_| true), "Es gilt 70 [12].");
        assert_eq!(tidy("Es gilt [12], [1].", |mark| mark == "12"), "Es gilt [12],.");
    }
}
