//! Scores of languages for a text in Latin letters.

use super::letters::LETTERS;
use crate::lists::language::{ENGLISH_MATTERS, FREQUENT, FREQUENT_WORDS, GERMAN_MATTERS};
use crate::pairs::Pairs;
use crate::tokens;

/// Weight of a word for an office matter or of a rare letter, against 1 for a word that only one language has: other
/// languages borrow `Reisepass` and `passport`, but not function words.
const WEAK: f32 = 0.5;
/// Maximum number of words read; more add no information.
const MOST_WORDS: usize = 1000;
/// Minimum number of letters of a word part that may match anywhere in a word.
const SHORTEST_PART: usize = 5;

/// The scores of each language.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evidence {
    /// Number of words without digits.
    words: usize,
    /// Scores by language, the highest first; languages that share a word divide its weight.
    pub(super) scores: Vec<(&'static str, f32)>,
    /// Undivided word counts by language, in the order of [`FREQUENT`].
    own: [f32; FREQUENT.len()],
}

impl Evidence {
    pub(super) fn of(text: &str) -> Self {
        let (mut scores, mut own) = ([0.0; FREQUENT.len()], [0.0; FREQUENT.len()]);
        let mut count = 0;
        let mut add = |languages: u32, worth: f32| {
            let each = worth / languages.count_ones().max(1) as f32;
            let of_languages = scores.iter_mut().zip(&mut own).enumerate();
            for (_, (score, own)) in of_languages.filter(|(place, _)| languages & (1 << place) != 0) {
                *score += each;
                *own += worth;
            }
        };
        for word in tokens::each(&tokens::spaced(text)).filter(|word| !word.contains('0')).take(MOST_WORDS) {
            count += 1;
            let folded = folded(word);
            match frequent(&folded) {
                Some(languages) => add(languages, 1.0),
                None => {
                    for languages in letters(word).chain(matters(&folded)) {
                        add(languages, WEAK);
                    }
                }
            }
        }
        let mut scores: Vec<_> = FREQUENT.iter().copied().zip(scores).collect();
        // Of equal ones a language of answers comes first.
        scores.sort_by_key(|(code, _)| !matches!(*code, "de" | "en"));
        scores.sort_by(|one, other| other.1.total_cmp(&one.1));
        Self { words: count, scores, own }
    }

    /// Returns the score of the language `code`.
    pub(super) fn score(&self, code: &str) -> f32 {
        self.scores.iter().find(|(other, _)| *other == code).map_or(0.0, |(_, score)| *score)
    }

    /// Returns the share of the text's words that are in the language `code`.
    pub(super) fn share(&self, code: &str) -> f32 {
        let own = FREQUENT.iter().zip(self.own).find(|(own, _)| **own == code);
        own.map_or(0.0, |(_, own)| own) / self.words.max(1) as f32
    }
}

/// Returns the languages in which `word` is frequent, one bit each, in the order of [`FREQUENT`].
pub(super) fn frequent(word: &str) -> Option<u32> {
    let place = FREQUENT_WORDS.binary_search_by_key(&word, |(known, _)| known).ok()?;
    FREQUENT_WORDS.get(place).map(|(_, languages)| *languages)
}

/// Returns the bits of the languages with these codes.
pub(super) fn bits(codes: &[&str]) -> u32 {
    let places = FREQUENT.iter().enumerate().filter(|(_, code)| codes.contains(code));
    places.map(|(place, _)| 1 << place).sum()
}

/// Returns the languages that use the letters of `word`.
fn letters(word: &str) -> impl Iterator<Item = u32> {
    let written = |letters: &str| word.chars().any(|letter| !letter.is_ascii() && letters.contains(letter));
    LETTERS.iter().filter(move |(letters, _)| written(letters)).map(|(_, codes)| bits(codes))
}

/// Returns the languages in which `word` is an office matter.
fn matters(word: &str) -> impl Iterator<Item = u32> {
    let pairs = Pairs::of(word);
    let part = |part: &&str| match part.len() < SHORTEST_PART {
        true => word.starts_with(part) || word.ends_with(part),
        false => pairs.may_hold(part) && word.contains(part),
    };
    let english = ENGLISH_MATTERS.contains(&word).then(|| bits(&["en"]));
    let german = (english.is_none() && GERMAN_MATTERS.iter().any(part)).then(|| bits(&["de"]));
    english.into_iter().chain(german)
}

/// Returns a word in lower case without diacritics.
fn folded(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for letter in word.chars() {
        match letter {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            other => folded.push(unmarked(other)),
        }
    }
    folded
}

fn unmarked(letter: char) -> char {
    match letter {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' | 'đ' => 'd',
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ė' | 'ę' | 'ě' => 'e',
        'ğ' | 'ģ' => 'g',
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'į' | 'ı' => 'i',
        'ł' | 'ľ' | 'ĺ' | 'ļ' => 'l',
        'ñ' | 'ń' | 'ň' | 'ņ' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ő' => 'o',
        'ŕ' | 'ř' => 'r',
        'ś' | 'š' | 'ş' | 'ș' => 's',
        'ť' | 'ţ' | 'ț' => 't',
        'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' | 'ų' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}
