//! Salutations of a letter.

use super::begins;
use crate::{abbreviations::is_abbreviated, lists::salutation};

/// Maximum number of characters of a salutation with its name.
const LONGEST: usize = 60;
/// Characters that end a salutation.
const ENDS: [char; 6] = [',', '!', '.', ':', ';', '\n'];

/// Returns `text` without its leading salutations, which are lines of their own: one in the line of the request stays.
pub(super) fn remove(text: &str) -> &str {
    let mut kept = text.trim_start();
    let mut rest = kept;
    while let Some(shorter) = without_first(rest) {
        let removed = rest.get(..rest.len() - shorter.len()).unwrap_or_default();
        let between = removed.get(removed.trim_end().len()..).unwrap_or_default();
        if between.contains('\n') {
            kept = shorter;
        }
        rest = shorter;
    }
    kept
}

/// Removes one salutation, which must end soon after its first words: "Hallo, …" and "Dear team, …", not "Liebe Grüße
/// an die Kollegin, die …".
fn without_first(text: &str) -> Option<&str> {
    let words = salutation::PHRASES.iter().find(|words| {
        begins(text, words) && !text.chars().nth(words.chars().count()).is_some_and(char::is_alphanumeric)
    })?;
    let length = words.chars().count();
    let is_end = |(at, letter): &(usize, char)| {
        let abbreviated = *letter == '.' && text.get(..*at).is_some_and(is_abbreviated);
        // "Liebe Kolleg:innen,"
        let inside =
            *letter == ':' && text.get(at + 1..).is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        ENDS.contains(letter) && !abbreviated && !inside
    };
    let (end, _) = text.char_indices().skip(length).take(LONGEST).find(is_end)?;
    let named = text.get(..end)?.split_whitespace().filter(|word| !word.ends_with('.')).count();
    // The longest addressee is like "Sehr geehrte Frau Dr. von Müller".
    let most = words.split_whitespace().count() + 4;
    let rest = text.get(end..)?.trim_start_matches(ENDS).trim_start();
    (named <= most && !rest.is_empty()).then_some(rest)
}
