//! Parses numerals: numbers written as words.

#[cfg(test)]
mod tests;

use crate::lists::numerals::WORDS;

/// Returns the number that `word`, in lower case, means: `neunundneunzig`, `zweihundert`, `ninety-nine`. `None` for
/// one, which is also an article.
pub fn number(word: &str) -> Option<u32> {
    german(word).or_else(|| english(word)).filter(|number| *number > 1)
}

/// Returns the number that has a word of its own.
fn known(word: &str) -> Option<u32> {
    numbered(WORDS, |own| own == word).and_then(|(number, _)| number.try_into().ok())
}

/// Returns the number and the word of the first of `entries`, words by their numbers, that `fits`.
pub fn numbered<'l>(
    entries: &[(&str, &[&'l str])],
    mut fits: impl FnMut(&str) -> bool,
) -> Option<(i64, &'l str)> {
    entries.iter().find_map(|(number, words)| {
        let word = words.iter().find(|word| fits(word))?;
        Some((number.parse().ok()?, *word))
    })
}

fn german(word: &str) -> Option<u32> {
    let Some((thousands, rest)) = word.split_once("tausend") else { return hundreds(word) };
    let thousands = if thousands.is_empty() { 1 } else { hundreds(thousands)? };
    Some(thousands * 1_000 + rest_of(rest, hundreds)?)
}

fn hundreds(word: &str) -> Option<u32> {
    let Some((hundreds, rest)) = word.split_once("hundert") else { return tens(word) };
    let hundreds = if hundreds.is_empty() { 1 } else { tens(hundreds)? };
    Some(hundreds * 100 + rest_of(rest, tens)?)
}

/// Parses "neunundneunzig".
fn tens(word: &str) -> Option<u32> {
    let one = |word: &str| if ["ein", "eins"].contains(&word) { Some(1) } else { known(word) };
    let compound = || {
        let (ones, tens) = word.split_once("und")?;
        let (ones, tens) = (one(ones)?, known(tens)?);
        (ones < 10 && tens >= 20).then_some(ones + tens)
    };
    one(word).or_else(compound)
}

/// Parses the rest after thousands or hundreds, with or without "und" before it.
fn rest_of(rest: &str, read: fn(&str) -> Option<u32>) -> Option<u32> {
    if rest.is_empty() { Some(0) } else { read(rest.strip_prefix("und").unwrap_or(rest)) }
}

/// Parses "ninety-nine".
fn english(word: &str) -> Option<u32> {
    let Some((tens, ones)) = word.split_once('-') else {
        return if word == "thousand" { Some(1_000) } else { known(word) };
    };
    let ones = if ones == "one" { 1 } else { known(ones)? };
    known(tens).filter(|tens| (20..100).contains(tens) && ones < 10).map(|tens| tens + ones)
}
