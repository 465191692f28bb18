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

/// One line without the marks `[1]` and `[1, 2]` that models put behind what they say.
pub(super) fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        tidied.push_str(before);
        rest = match after.split_once(']') {
            Some((mark, behind)) if is_numbers(mark) => behind,
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

fn is_numbers(mark: &str) -> bool {
    mark.split(',').all(|number| {
        let number = number.trim();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
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
            assert_eq!(tidy(text), expected);
        }
    }
}
