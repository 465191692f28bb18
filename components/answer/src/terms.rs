//! Texts as the words that carry their meaning, in a form in which `Gebühren` and `Gebühr` are one.

mod stop;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use bulkhead_ticket_text::language::Language;
use rust_stemmers::{Algorithm, Stemmer};

pub use stop::is_stop;

/// Letters from which on a word inside another one is believed to be a part of a compound: `pass` in `Passbild` would
/// pass, and so would `alle` in `Falle`.
const SHORTEST_PART: usize = 5;
/// What a part of a compound is worth, against 1 for the word itself.
const PART: f32 = 0.6;

/// The words of `text` in lower case: runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Cuts words to their stems in one language.
pub struct Stems(Stemmer);

impl Stems {
    /// Stems of `language`.
    pub fn new(language: Language) -> Self {
        Self(Stemmer::create(match language {
            Language::German => Algorithm::German,
            Language::English => Algorithm::English,
        }))
    }

    /// The stem of a word in lower case, without the dots of umlauts, which German writers may leave out.
    pub fn stem(&self, word: &str) -> String {
        let stem = self.0.stem(word);
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

    /// Stems of the words of `text` that carry its meaning, each once.
    pub fn terms(&self, text: &str) -> BTreeSet<String> {
        words(text).filter(|word| !is_stop(word)).map(|word| self.stem(&word)).collect()
    }
}

/// How far `term` is said by one of `others`: 1 by itself, less as a part of a compound, 0 not at all.
pub fn said(term: &str, others: &BTreeSet<String>) -> f32 {
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
