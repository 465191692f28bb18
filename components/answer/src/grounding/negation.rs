//! Negations in both languages.

use crate::lists::negation::WORDS;
use crate::terms::words;

/// Returns whether `text` has a negation.
pub fn is_negated(text: &str) -> bool {
    words(text).any(|word| WORDS.contains(&word.as_str()))
}
