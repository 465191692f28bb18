//! Abbreviations: words whose point does not end a sentence.

use crate::lists::abbreviations::WORDS;

/// Returns whether a point at the end of `text` belongs to its last word.
pub fn is_abbreviated(text: &str) -> bool {
    let begin = text.rfind(|letter: char| !letter.is_alphanumeric() && letter != '.').map_or(0, |at| at + 1);
    let word = (begin..text.len()).find_map(|at| text.get(at..)).unwrap_or_default().to_lowercase();
    // A single letter is an initial or an abbreviation: `z. B.`.
    word.chars().count() == 1 && word.chars().all(char::is_alphabetic) || WORDS.contains(&word.as_str())
}
