//! Which dates are days of birth.

use std::ops::Range;

/// Words of a day of birth.
const BIRTH: [&str; 4] = ["geb", "geboren", "born", "dob"];
/// What begins a clause without a comma, or with one.
const JOINTS: [&str; 5] = [" und ", " and ", " aber ", " but ", ","];
/// Verbs of a clause that tells what somebody has done.
const HAVE: [&str; 8] = ["habe", "hab", "haben", "hat", "hatte", "have", "has", "had"];
/// Characters before a date in which such a word may stand.
const LONGEST_LABEL: usize = 40;

/// Whether the words about the date at `range` of `text` say that it is somebody's day of birth: "geboren am ..." and
/// "am ... geboren".
pub fn is_birth(text: &str, range: &Range<usize>) -> bool {
    let before = super::last(text.get(..range.start).unwrap_or_default(), LONGEST_LABEL);
    // A label may stand on the line above.
    let mut parts = before.rsplit(|letter: char| letter == '\n' || letter.is_ascii_digit());
    let label = parts.find(|part| !part.trim().is_empty()).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default().chars().take(LONGEST_LABEL);
    let after: String =
        after.take_while(|letter| !letter.is_ascii_digit() && !".!?;,\n".contains(*letter)).collect();
    label.trim_end().ends_with('*')
        || tells_of_birth(own_clause(last_sentence(label)))
        || tells_of_birth(&after)
}

/// What stands behind the last sentence of `label`; the point of "geb." ends none.
fn last_sentence(label: &str) -> &str {
    let mut ends = label.rmatch_indices(". ").map(|(at, _)| at);
    let end =
        ends.find(|end| !label.get(..*end).is_some_and(|before| before.to_lowercase().ends_with("geb")));
    end.and_then(|end| label.get(end..)).unwrap_or(label)
}

/// What stands in `label` behind the beginning of a clause that tells what somebody has done: "geboren und habe am ..."
/// tells of two days. Nothing else ends what a word of birth tells, so that no day of birth is passed over.
fn own_clause(label: &str) -> &str {
    let begins = JOINTS.iter().filter_map(|joint| label.rfind(joint).map(|at| at + joint.len())).max();
    let clause = begins.and_then(|at| label.get(at..)).unwrap_or(label);
    let has_done = clause.split_whitespace().any(|word| HAVE.contains(&word.to_lowercase().as_str()));
    if has_done { clause } else { label }
}

fn tells_of_birth(words: &str) -> bool {
    let lower = words.to_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| BIRTH.contains(&word) || is_birth_word(word))
}

fn is_birth_word(word: &str) -> bool {
    ["geburt", "birth"].iter().any(|start| word.starts_with(start))
}
