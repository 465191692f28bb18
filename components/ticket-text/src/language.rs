//! The language of a text, as far as answers depend on it.

#[cfg(test)]
mod tests;

use crate::words;
use whatlang::{Detector, Lang, Script};

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Answered in German.
    German,
    /// Answered in English.
    English,
}

/// Letters from which on a third language is believed: the trigrams of a short German text look like many.
const ENOUGH_LETTERS: usize = 60;

/// Letters from which on trigrams tell the two languages apart.
const ENOUGH_FOR_TRIGRAMS: usize = 30;

/// Different frequent words of a language from which on a text is evidently written in it.
const EVIDENT_WORDS: u32 = 5;
/// There must be as many times more of them than of the other language's,
const EVIDENT_LEAD: usize = 3;
/// and at least one word in so many must be one.
const EVIDENT_SHARE: usize = 5;

/// Words that a short text gives itself away with.
const GERMAN: [&str; 40] = [
    "der", "die", "das", "und", "ich", "ist", "nicht", "ein", "eine", "einen", "wir", "mein", "meine", "wie",
    "wo", "wann", "muss", "kann", "für", "mit", "von", "auf", "bitte", "habe", "hab", "haben", "wird",
    "wurde", "sind", "bei", "zum", "zur", "im", "am", "den", "dem", "es", "sie", "danke", "was",
];
const ENGLISH: [&str; 40] = [
    "the", "and", "i", "is", "not", "a", "an", "we", "my", "our", "how", "where", "when", "must", "can",
    "for", "with", "of", "on", "please", "have", "has", "be", "were", "are", "at", "to", "in", "it", "you",
    "thanks", "need", "do", "does", "what", "who", "this", "that", "your", "from",
];

impl Language {
    /// Its code (ISO 639-1).
    pub fn code(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::English => "en",
        }
    }
}

/// The code (ISO 639-1) of the language of `text` where it is German or English, the three letters of ISO 639-3 of
/// another one that is certain, and nothing where a text has no words.
pub fn detect(text: &str) -> Option<&'static str> {
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    if letters == 0 {
        return None;
    }
    if let Some(language) = FunctionWords::of(text).evident() {
        return Some(language.code());
    }
    let certain = |info: &whatlang::Info| info.is_reliable() && letters >= ENOUGH_LETTERS;
    match whatlang::detect(text) {
        Some(info) if info.script() != Script::Latin => Some(info.lang().code()),
        Some(info) if certain(&info) && !matches!(info.lang(), Lang::Deu | Lang::Eng) => {
            Some(info.lang().code())
        }
        _ => Some(german_or_english(text).code()),
    }
}

/// Which of the two languages `text` is answered in. Frequent words decide, trigrams where they do not; German
/// where nothing does.
pub fn german_or_english(text: &str) -> Language {
    let FunctionWords { german, english, .. } = FunctionWords::of(text);
    if german.count != english.count {
        return if german.count > english.count { Language::German } else { Language::English };
    }
    let trigrams = text.chars().filter(|letter| letter.is_alphabetic()).count() >= ENOUGH_FOR_TRIGRAMS;
    match Detector::with_allowlist(vec![Lang::Deu, Lang::Eng]).detect_lang(text) {
        Some(Lang::Eng) if trigrams => Language::English,
        _ => Language::German,
    }
}

/// How many words of a text are among the frequent ones of a language.
#[derive(Debug, Clone, Copy, Default)]
struct Hits {
    count: usize,
    /// A bit for each of the list's words that the text has.
    seen: u64,
}

impl Hits {
    fn add(&mut self, list: &[&str; 40], word: &str) {
        if let Some(at) = list.iter().position(|known| *known == word) {
            self.count += 1;
            self.seen |= 1 << at;
        }
    }
}

/// The frequent words of a text.
#[derive(Debug, Clone, Copy, Default)]
struct FunctionWords {
    words: usize,
    german: Hits,
    english: Hits,
}

impl FunctionWords {
    fn of(text: &str) -> Self {
        let mut found = Self::default();
        for word in words::each(&words::spaced(text)) {
            found.words += 1;
            found.german.add(&GERMAN, word);
            found.english.add(&ENGLISH, word);
        }
        found
    }

    /// The language that needs no trigrams to be known: those of all languages are compared, which takes long. Related
    /// languages share some of the words, hence several different ones that make up a part of the text.
    fn evident(self) -> Option<Language> {
        let clear = |one: Hits, other: Hits| {
            one.seen.count_ones() >= EVIDENT_WORDS
                && one.count >= EVIDENT_LEAD * other.count
                && one.count * EVIDENT_SHARE >= self.words
        };
        let german = clear(self.german, self.english).then_some(Language::German);
        german.or_else(|| clear(self.english, self.german).then_some(Language::English))
    }
}
