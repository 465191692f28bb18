//! Normalises the words of a text.

#[cfg(test)]
mod tests;
mod umlauts;

use std::borrow::Cow;

pub use umlauts::umlauted;

/// Minimum number of letters of a meaningful text: digits and signs alone mean nothing.
const FEWEST_LETTERS: usize = 2;
/// Number of consecutive capitals that no usual abbreviation has.
const LOUD: usize = 5;

/// Returns whether a text has a possible word.
pub fn has_words(text: &str) -> bool {
    text.chars().filter(|sign| sign.is_alphabetic()).nth(FEWEST_LETTERS - 1).is_some()
}

/// Returns `text` in the spelling that models know: words in capitals in lower case, because a model splits
/// `FÜHRERSCHEIN` into fragments, and umlauts for `Muelltonne`. Abbreviations such as `KFZ` stay, but among words in
/// capitals only they are indistinguishable.
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
