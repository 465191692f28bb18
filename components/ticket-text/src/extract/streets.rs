//! Streets that are named after a day, which is not a date.

use std::ops::Range;

use crate::lists::streets;

/// Number of characters searched before a day.
const REACH: usize = 60;
/// Number of characters of the longest ending of a street name.
const LONGEST_END: usize = 8;

/// Returns whether a street is named after the day at `range`: "Straße des 17. Juni", "1. Mai Straße", "20.
/// Juli-Platz".
pub(super) fn are_named_after(text: &str, range: &Range<usize>) -> bool {
    let before = super::last(text.get(..range.start).unwrap_or_default(), REACH).to_lowercase();
    let mut words = before.split_whitespace().rev();
    let word = words.next().unwrap_or_default();
    if streets::LINKS.contains(&word) && words.next().is_some_and(ends_street) {
        return true;
    }
    let after = text.get(range.end..).unwrap_or_default();
    let begins = |name: &str| {
        let name = name.chars().take(LONGEST_END).collect::<String>().to_lowercase();
        name.starts_with("str.") || streets::ENDS.iter().any(|end| name.starts_with(end))
    };
    after.strip_prefix('-').is_some_and(begins)
        || (!streets::DAYS.contains(&word) && after.strip_prefix(' ').is_some_and(begins))
}

fn ends_street(word: &str) -> bool {
    word.ends_with("str.") || streets::ENDS.iter().any(|end| word.ends_with(end))
}
