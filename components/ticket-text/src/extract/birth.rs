//! Recognises dates of birth.

use std::ops::Range;

use crate::lists::birth;

/// Maximum number of characters from a word for a birth to the date.
const LONGEST_LABEL: usize = 40;

/// Returns whether the words around the date at `range` of `text` make it a date of birth: "geboren am ..." and "am
/// ... geboren".
pub fn is_birth(text: &str, range: &Range<usize>) -> bool {
    let before = super::last(text.get(..range.start).unwrap_or_default(), LONGEST_LABEL);
    // The label may be on the line above.
    let mut parts = before.rsplit(|letter: char| letter == '\n' || letter.is_ascii_digit());
    let label = parts.find(|part| !part.trim().is_empty()).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default().chars().take(LONGEST_LABEL);
    let after: String =
        after.take_while(|letter| !letter.is_ascii_digit() && !".!?;,\n".contains(*letter)).collect();
    label.trim_end().ends_with('*')
        || tells_of_birth(own_clause(last_sentence(label)))
        || tells_of_birth(&after)
}

/// Returns the last sentence of `label`; the point of "geb." does not end a sentence.
fn last_sentence(label: &str) -> &str {
    let mut ends = label.rmatch_indices(". ").map(|(at, _)| at);
    let end =
        ends.find(|end| !label.get(..*end).is_some_and(|before| before.to_lowercase().ends_with("geb")));
    end.and_then(|end| label.get(end..)).unwrap_or(label)
}

/// Returns the part of `label` after the beginning of a clause about an action: "geboren und habe am ..." mentions
/// two days. Nothing else separates a birth word from its date, so that no date of birth is missed.
fn own_clause(label: &str) -> &str {
    let begins = birth::JOINTS.iter().filter_map(|joint| label.rfind(joint).map(|at| at + joint.len())).max();
    let clause = begins.and_then(|at| label.get(at..)).unwrap_or(label);
    let has_done =
        clause.split_whitespace().any(|word| birth::ACTIONS.contains(&word.to_lowercase().as_str()));
    if has_done { clause } else { label }
}

fn tells_of_birth(words: &str) -> bool {
    let lower = words.to_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    words
        .any(|word| birth::WORDS.contains(&word) || birth::STARTS.iter().any(|start| word.starts_with(start)))
}
