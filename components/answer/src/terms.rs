//! Splits texts into content words, reduced to stems so that `Gebühren` and `Gebühr` are equal.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use bulkhead_text::language::Language;
use bulkhead_text::words::umlauted;
use rust_stemmers::{Algorithm, Stemmer};

use crate::lists::terms;

/// Minimum number of letters of a compound's part: `pass` in `Passbild` would match, but so would `alle` in `Falle`.
const SHORTEST_PART: usize = 5;
/// Number of leading words of a clause that may hold its verb.
const VERB: usize = 3;
/// Score of a match with a part of a compound, against 1 for the word itself.
const PART: f32 = 0.6;

/// Returns the words of `text` in lower case: runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Returns whether `word`, in lower case, is a stop word. Negations and numbers are not: they change the meaning.
pub fn is_stop(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| terms::STOP_WORDS.iter().copied().collect());
    (word.chars().nth(1).is_none() && !word.chars().all(char::is_numeric))
        || WORDS.contains(word)
        || matches!(umlauted(word), Cow::Owned(word) if WORDS.contains(word.as_str()))
}

/// Stems words of one language.
pub struct Stems {
    stemmer: Stemmer,
    german: bool,
}

impl Stems {
    /// Creates a stemmer for `language`.
    pub fn new(language: Language) -> Self {
        let german = language == Language::German;
        let algorithm = if german { Algorithm::German } else { Algorithm::English };
        Self { stemmer: Stemmer::create(algorithm), german }
    }

    /// Returns the stem of a word in lower case, without umlauts, which German writers may leave out or write with
    /// `e`.
    pub fn stem(&self, word: &str) -> String {
        let word = if self.german { umlauted(word) } else { Cow::Borrowed(word) };
        let stem = self.stemmer.stem(&word);
        let mut folded = String::with_capacity(stem.len());
        for letter in stem.chars() {
            match letter {
                'ä' => folded.push('a'),
                'ö' => folded.push('o'),
                'ü' => folded.push('u'),
                'ß' => folded.push_str("ss"),
                other => folded.push(other),
            }
        }
        folded
    }

    /// Returns the stems of the content words of `text`, each once.
    pub fn terms(&self, text: &str) -> BTreeSet<String> {
        words(text).filter(|word| !is_stop(word)).map(|word| self.stem(&word)).collect()
    }

    /// Returns the same with separated German verbs joined: "melden Sie ihn um" has `ummelden`.
    pub fn terms_and_verbs(&self, text: &str) -> BTreeSet<String> {
        let mut terms = self.terms(text);
        for clause in text.split([',', ';', ':', '.', '!', '?']).filter(|_| self.german) {
            let words: Vec<String> = words(clause).collect();
            let Some((last, before)) =
                words.split_last().filter(|(last, _)| terms::PARTICLES.contains(&last.as_str()))
            else {
                continue;
            };
            let verbs = before.iter().take(VERB).filter(|word| !is_stop(word));
            terms.extend(verbs.map(|verb| self.stem(&format!("{last}{verb}"))));
        }
        terms
    }
}

/// Returns how well `term` matches one of `others`: 1 for the word itself, less for a part of a compound, else 0.
pub fn match_score(term: &str, others: &BTreeSet<String>) -> f32 {
    if others.contains(term) {
        return 1.0;
    }
    let part = |other: &String| {
        let (short, long) =
            if other.len() < term.len() { (other.as_str(), term) } else { (term, other.as_str()) };
        short.chars().nth(SHORTEST_PART - 1).is_some() && !is_number(short) && long.contains(short)
    };
    if others.iter().any(part) { PART } else { 0.0 }
}

fn is_number(word: &str) -> bool {
    word.chars().all(char::is_numeric)
}
