//! What the model answered.

use bulkhead_ticket_text::llm::{Failure, bare, one_line};
use serde::Deserialize;

/// An answer in the form that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) sentences: Vec<Sentence>,
}

/// One sentence, and the numbers of the passages that are to say it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) passages: Vec<i64>,
}

/// Reads JSON.
pub(super) fn read(answer: &str) -> Result<Reply, Failure> {
    serde_json::from_str(bare(answer)).map_err(|_| Failure::Form)
}

/// One line without the marks `[1]` and `[1, 2]` that models put behind what they say; those that are `kept`, by what
/// stands in their brackets, are no such marks.
pub(super) fn tidy(text: &str, kept: impl Fn(&str) -> bool) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut rest = text;
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
    // What a mark has left before the end of its sentence.
    let tidied = one_line(&tidied);
    [" .", " ,", " !", " ?"].iter().fold(tidied, |text, gap| text.replace(gap, gap.trim_start()))
}

/// The numbers in the brackets of a mark; none where it holds anything else.
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
            ("An [NAME_1], [x], [ und []", "An [NAME_1], [x], [ und []"),
        ] {
            assert_eq!(tidy(text, |_| false), expected);
        }
        assert_eq!(tidy("Es gilt [12], [1].", |mark| mark == "12"), "Es gilt [12],.");
    }
}
