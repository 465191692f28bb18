//! Parsing of the language model's reply.

use bulkhead_ticket_text::llm::one_line;
use serde::Deserialize;

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

/// Returns one line without the reference marks `[1]`, `[1, 2]` and `【1】` that models append; marks in square
/// brackets whose content is `kept` stay.
pub(super) fn tidy(text: &str, kept: impl Fn(&str) -> bool) -> String {
    let mut tidied = String::with_capacity(text.len());
    let text = without_lenticular(text);
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('[') {
        tidied.push_str(before);
        rest = match after.split_once(']') {
            Some((mark, behind)) if numbers(mark).is_some() && !kept(mark) => behind,
            _ => {
                tidied.push('[');
                after
            }
        };
    }
    tidied.push_str(rest);
    // A removed mark may leave a space before the end of its sentence.
    let tidied = one_line(&tidied);
    [" .", " ,", " !", " ?"].iter().fold(tidied, |text, gap| text.replace(gap, gap.trim_start()))
}

/// Removes marks such as `【1】` and `【1†source】`, which some models are trained to write and pages never have.
fn without_lenticular(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('【') {
        left.push_str(before);
        rest = match after.split_once('】') {
            Some((mark, behind)) if mark.trim_start().starts_with(|sign: char| sign.is_ascii_digit()) => {
                behind
            }
            _ => {
                left.push('【');
                after
            }
        };
    }
    left.push_str(rest);
    left
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
