//! Texts as words.

#[cfg(test)]
mod tests;
mod umlauts;

use std::borrow::Cow;

pub use umlauts::umlauted;

/// Letters below which nothing can be said of a text: of digits and signs alone anything can be made up.
const FEWEST_LETTERS: usize = 2;
/// Capitals in a row that no usual abbreviation has.
const LOUD: usize = 5;

/// Whether a text has what could be a word.
pub fn has_words(text: &str) -> bool {
    text.chars().filter(|sign| sign.is_alphabetic()).nth(FEWEST_LETTERS - 1).is_some()
}

/// `text` as models know its words: those in capitals in lower case, for a model knows few words of capitals and takes
/// `FÜHRERSCHEIN` for splinters; and umlauts where German is written without (`Muelltonne`). Abbreviations stay as they
/// are (`KFZ`), but among words of capitals alone nothing tells them apart.
pub fn usual(text: &str) -> Cow<'_, str> {
    let quiet = quiet(text);
    if !umlauts::lacks_umlauts(&quiet) {
        return quiet;
    }
    let words = quiet.split_inclusive(|letter: char| !letter.is_alphabetic());
    Cow::Owned(words.map(umlauted).collect())
}

fn quiet(text: &str) -> Cow<'_, str> {
    let is_loud = |part: &str| {
        let capitals = part.chars().filter(|letter| letter.is_uppercase()).take(LOUD).count();
        capitals == LOUD && !part.chars().any(char::is_lowercase)
    };
    if is_loud(text) {
        return Cow::Owned(text.to_lowercase());
    }
    let words = || text.split_inclusive(|letter: char| !letter.is_alphabetic());
    if !words().any(is_loud) {
        return Cow::Borrowed(text);
    }
    let quieter = |word| if is_loud(word) { Cow::Owned(word.to_lowercase()) } else { Cow::Borrowed(word) };
    Cow::Owned(words().map(quieter).collect())
}
