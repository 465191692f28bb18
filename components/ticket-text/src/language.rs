//! The language of a text, as far as answers depend on it.

#[cfg(test)]
mod tests;

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
    let (mut german, mut english) = (0, 0);
    for word in crate::words::words(text) {
        german += usize::from(GERMAN.contains(&word.as_str()));
        english += usize::from(ENGLISH.contains(&word.as_str()));
    }
    if german != english {
        return if german > english { Language::German } else { Language::English };
    }
    let trigrams = text.chars().filter(|letter| letter.is_alphabetic()).count() >= ENOUGH_FOR_TRIGRAMS;
    match Detector::with_allowlist(vec![Lang::Deu, Lang::Eng]).detect_lang(text) {
        Some(Lang::Eng) if trigrams => Language::English,
        _ => Language::German,
    }
}
