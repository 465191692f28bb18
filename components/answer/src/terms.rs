//! Texts as the words that carry their meaning, in a form in which `Gebühren` and `Gebühr` are one.

mod stop;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;

use bulkhead_ticket_text::language::Language;
use bulkhead_ticket_text::words::umlauted;
use rust_stemmers::{Algorithm, Stemmer};

pub use stop::is_stop;

/// Letters from which on a word inside another one is believed to be a part of a compound: `pass` in `Passbild` would
/// pass, and so would `alle` in `Falle`.
const SHORTEST_PART: usize = 5;
/// What is put before verbs, and stands at the end of a clause by itself.
const PARTICLES: [&str; 12] =
    ["ab", "an", "auf", "aus", "bei", "ein", "mit", "nach", "um", "vor", "zu", "zurück"];
/// Words of a clause among which its verb is.
const VERB: usize = 3;
/// What a part of a compound is worth, against 1 for the word itself.
const PART: f32 = 0.6;

/// The words of `text` in lower case: runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Cuts words to their stems in one language.
pub struct Stems {
    stemmer: Stemmer,
    german: bool,
}

impl Stems {
    /// Stems of `language`.
    pub fn new(language: Language) -> Self {
        let german = language == Language::German;
        let algorithm = if german { Algorithm::German } else { Algorithm::English };
        Self { stemmer: Stemmer::create(algorithm), german }
    }

    /// The stem of a word in lower case, without the dots of umlauts, which German writers may leave out or write as `e`.
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

    /// Stems of the words of `text` that carry its meaning, each once.
    pub fn terms(&self, text: &str) -> BTreeSet<String> {
        words(text).filter(|word| !is_stop(word)).map(|word| self.stem(&word)).collect()
    }

    /// The same, and German verbs with the particles that stand at the end of their clauses: "melden Sie ihn um" says
    /// `ummelden`.
    pub fn terms_and_verbs(&self, text: &str) -> BTreeSet<String> {
        let mut terms = self.terms(text);
        for clause in text.split([',', ';', ':', '.', '!', '?']).filter(|_| self.german) {
            let words: Vec<String> = words(clause).collect();
            let Some((last, before)) =
                words.split_last().filter(|(last, _)| PARTICLES.contains(&last.as_str()))
            else {
                continue;
            };
            let verbs = before.iter().take(VERB).filter(|word| !is_stop(word));
            terms.extend(verbs.map(|verb| self.stem(&format!("{last}{verb}"))));
        }
        terms
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
