//! Words that turn a sentence into its opposite.

use crate::terms::words;

/// These words, in lower case.
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

/// Whether `text` has one of them.
pub fn is_negated(text: &str) -> bool {
    words(text).any(|word| NEGATIONS.contains(&word.as_str()))
}
