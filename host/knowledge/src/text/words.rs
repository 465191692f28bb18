//! Words of a text as terms: lower-case, without inflection, without accents. One analysis for all stores, so that
//! a base finds the same in each of them.

mod stop;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Most characters of a term; longer ones are not words of any language.
const MAX_TERM: usize = 64;
/// Most bytes of a question that are looked at.
const MAX_QUESTION: usize = 16 << 10;
/// Most words of a question that are searched for.
const MAX_WORDS: usize = 64;

/// One word of a question: the terms under which passages may hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Never empty, no term twice.
    pub terms: Vec<String>,
}

/// Returns the terms of `text`, in order, by the stemmer of its language.
pub(crate) fn terms(text: &str, language: Option<&str>) -> Vec<String> {
    let stemmer = language.and_then(stemmer);
    words(text).flat_map(|word| folded(&stem(stemmer.as_ref(), &word))).collect()
}

/// Returns the significant words of a question, each as a term in any of `languages` or without one, as the language
/// of a short question is uncertain. No word occurs twice.
pub(crate) fn question<'l>(text: &str, languages: impl IntoIterator<Item = &'l str>) -> Vec<Word> {
    let cut = (0..=MAX_QUESTION.min(text.len())).rev().find(|cut| text.is_char_boundary(*cut));
    let text = text.get(..cut.unwrap_or(0)).unwrap_or_default();
    let mut stemmers: Vec<_> = languages.into_iter().filter_map(stemmer).map(Some).collect();
    stemmers.push(None);
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for word in words(text).filter(|word| !stop::contains(word)) {
        // A word that falls into several terms (`24/7`) is as many words.
        let forms: Vec<Vec<String>> =
            stemmers.iter().map(|stemmer| folded(&stem(stemmer.as_ref(), &word))).collect();
        let parts = forms.iter().map(Vec::len).max().unwrap_or(0);
        for part in 0..parts {
            let terms: BTreeSet<_> = forms.iter().filter_map(|form| form.get(part).cloned()).collect();
            let terms: Vec<_> = terms.into_iter().collect();
            if seen.insert(terms.clone()) {
                found.push(Word { terms });
            }
        }
        if found.len() >= MAX_WORDS {
            break;
        }
    }
    found
}

/// Splits text into words in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words().map(str::to_lowercase)
}

fn stem(stemmer: Option<&Stemmer>, word: &str) -> String {
    stemmer.map_or_else(|| word.to_owned(), |stemmer| stemmer.stem(word).into_owned())
}

/// Folds letters: no accents, `ß` as `ss`, and the two-letter spelling of umlauts as the umlaut's letter, so that
/// `Gebühr` and `Gebuehr` are one word. Only letters and digits are left; what was between them separates terms.
fn folded(word: &str) -> Vec<String> {
    let mut letters = String::with_capacity(word.len());
    let mut before = None;
    for character in word.nfkd().flat_map(char::to_lowercase) {
        let follows = before.replace(character);
        match character {
            'ß' => letters.push_str("ss"),
            // The `e` of ae, oe, ue; not in `neue`, `bauen`, `quer`.
            'e' if matches!(follows, Some('a' | 'o' | 'u')) && umlaut(&letters) => {}
            _ if character.is_alphanumeric() => letters.push(character),
            '\u{300}'..='\u{36f}' => {}
            _ => letters.push(' '),
        }
    }
    letters
        .split(' ')
        .filter(|term| !term.is_empty())
        .map(|term| term.chars().take(MAX_TERM).collect())
        .collect()
}

/// Returns whether an `e` after these letters only marks the last one, as after a consonant or at the beginning.
fn umlaut(letters: &str) -> bool {
    !letters.chars().rev().nth(1).is_some_and(|before| matches!(before, 'a' | 'e' | 'i' | 'o' | 'u' | 'q'))
}

fn stemmer(language: &str) -> Option<Stemmer> {
    let algorithm = match language {
        "ar" => Algorithm::Arabic,
        "da" => Algorithm::Danish,
        "de" => Algorithm::German,
        "el" => Algorithm::Greek,
        "en" => Algorithm::English,
        "es" => Algorithm::Spanish,
        "fi" => Algorithm::Finnish,
        "fr" => Algorithm::French,
        "hu" => Algorithm::Hungarian,
        "it" => Algorithm::Italian,
        "nl" => Algorithm::Dutch,
        "no" | "nb" | "nn" => Algorithm::Norwegian,
        "pt" => Algorithm::Portuguese,
        "ro" => Algorithm::Romanian,
        "ru" => Algorithm::Russian,
        "sv" => Algorithm::Swedish,
        "ta" => Algorithm::Tamil,
        "tr" => Algorithm::Turkish,
        _ => return None,
    };
    Some(Stemmer::create(algorithm))
}
