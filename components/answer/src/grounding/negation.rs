//! Negations in both languages.

use crate::terms::words;

/// Negating words, in lower case.
pub(super) const NEGATIONS: &[&str] = &[
    "nicht",
    "nichts",
    "kein",
    "keine",
    "keinem",
    "keinen",
    "keiner",
    "keines",
    "keinerlei",
    "nie",
    "niemals",
    "niemand",
    "ohne",
    "weder",
    "not",
    "no",
    "none",
    "nothing",
    "nobody",
    "never",
    "without",
    "neither",
    "nor",
    "cannot",
    "isn",
    "aren",
    "doesn",
    "don",
    "won",
];

/// Returns whether `text` has a negation.
pub fn is_negated(text: &str) -> bool {
    words(text).any(|word| NEGATIONS.contains(&word.as_str()))
}
