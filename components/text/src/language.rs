//! Detects the language of a text.
//!
//! Frequent words decide: every language has few of them, and no sentence goes without. Trigrams decide among related
//! languages, in longer texts without such words, and in other scripts. If neither is clear, no language is reported:
//! an answer in a language that its reader may not know is worse than a clerk's.

mod codes;
mod evidence;
mod letters;
#[cfg(test)]
mod tests;

use codes::code;
use evidence::Evidence;
use whatlang::{Detector, Info, Lang, Script};

use crate::lists::language::STREETS;

/// The language of answers and reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// German.
    German,
    /// English.
    English,
}

/// Minimum share of a text's words in its language.
const LEAST_SHARE: f32 = 0.15;
/// Minimum score of a language: one word for an office matter.
const LEAST_SCORE: f32 = 0.5;
/// Minimum ratio of its score to that of any other language.
const LEAD: f32 = 1.3;
/// Minimum score of English in a text with German letters.
const ENOUGH_ENGLISH: f32 = 2.0;
/// Minimum number of letters for trigrams alone: a short text resembles many languages.
const ENOUGH_LETTERS: usize = 40;
/// Minimum number of letters for trigrams among the few languages of a script or with common frequent words.
const ENOUGH_AMONG_FEW: usize = 12;

impl Language {
    /// Returns its ISO 639-1 code.
    pub fn code(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::English => "en",
        }
    }
}

/// Returns the ISO 639-1 code of the language of `text`; `None` if it is uncertain or the text has no words.
pub fn detect(text: &str) -> Option<&'static str> {
    detect_in(&without_names(text))
}

/// Returns the language in which to answer `text`, whose language is `detected`: English if that is `en`, else German.
/// Trigrams decide between the two if none is detected, as for a few search words; with too few letters for trigrams, or
/// with letters that English lacks, it is German.
pub fn answered_in(text: &str, detected: Option<&'static str>) -> Language {
    let guessed = || {
        let text = without_names(text);
        between(&text).filter(|_| letters(&text) >= ENOUGH_AMONG_FEW && !has_german_letters(&text))
    };
    match detected.or_else(guessed) {
        Some("en") => Language::English,
        _ => Language::German,
    }
}

/// Returns whether `word`, in lower case, is a frequent word of German or English.
pub(crate) fn is_frequent(word: &str) -> bool {
    evidence::frequent(word).is_some_and(|languages| languages & evidence::bits(&["de", "en"]) != 0)
}

fn detect_in(text: &str) -> Option<&'static str> {
    let letters = letters(text);
    match whatlang::detect_script(text)? {
        Script::Latin => latin(text, letters),
        Script::Cyrillic => cyrillic(text).or_else(|| in_script(text, letters)),
        Script::Arabic => arabic(text).or_else(|| in_script(text, letters)),
        _ => in_script(text, letters),
    }
}

/// Returns `text` without parts that are the same in every language: street names, and web and mail addresses.
fn without_names(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(|part| if is_name(part) { " " } else { part }).collect()
}

fn is_name(part: &str) -> bool {
    let word = part.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
    let is_street =
        STREETS.iter().any(|street| word.strip_suffix(street).is_some_and(|name| !name.is_empty()));
    is_street || part.contains("://") || part.contains('@') || word.starts_with("www.")
}

fn letters(text: &str) -> usize {
    text.chars().filter(|letter| letter.is_alphabetic()).count()
}

/// Returns whether `text` has letters that English uses in names and loanwords only.
fn has_german_letters(text: &str) -> bool {
    text.contains(['ä', 'ö', 'ü', 'ß', 'Ä', 'Ö', 'Ü', 'ẞ'])
}

fn latin(text: &str, letters: usize) -> Option<&'static str> {
    let evidence = Evidence::of(text);
    let is_ours = |code: &str| code == "de" || code == "en";
    let (german, english) = (evidence.score("de"), evidence.score("en"));
    let others = evidence.scores.iter().find(|(code, _)| !is_ours(code)).map_or(0.0, |(_, score)| *score);
    let (first, best) = *evidence.scores.first()?;
    let speaks = best >= LEAST_SCORE && evidence.share(first) >= LEAST_SHARE;
    // Both languages can be answered, so the one with the higher score will do.
    if speaks && german.max(english) >= LEAD * others {
        // "Name ändern": one or two words that are also English weigh less than the letters.
        if first == "en" && english < ENOUGH_ENGLISH && has_german_letters(text) {
            return Some("de");
        }
        return if german == english { either(text, letters) } else { Some(first) };
    }
    let trigrams = whatlang::detect(text).filter(|info| letters >= ENOUGH_LETTERS && info.is_reliable());
    if speaks && best > german.max(english) * LEAD {
        return related(text, letters, &evidence, trigrams);
    }
    // Trigrams must not contradict the words.
    let detected = code(trigrams?.lang());
    (!is_ours(detected) || evidence.score(detected) >= others).then_some(detected)
}

/// Returns German or English, by trigrams.
fn either(text: &str, letters: usize) -> Option<&'static str> {
    between(text).filter(|_| letters >= ENOUGH_LETTERS)
}

fn between(text: &str) -> Option<&'static str> {
    Detector::with_allowlist(vec![Lang::Deu, Lang::Eng]).detect_lang(text).map(code)
}

/// Returns one of the related languages with similar scores.
fn related(text: &str, letters: usize, evidence: &Evidence, trigrams: Option<Info>) -> Option<&'static str> {
    let (first, best) = *evidence.scores.first()?;
    let likely = |code: &str| evidence.score(code) * LEAD >= best;
    // Many languages have no list, but a related one has.
    let unlisted = |detected: &&str| evidence.scores.iter().all(|(code, _)| code != detected);
    if let Some(detected) =
        trigrams.map(|info| code(info.lang())).filter(|detected| likely(detected) || unlisted(detected))
    {
        return Some(detected);
    }
    let alone = evidence.scores.iter().filter(|(code, _)| likely(code)).count() == 1;
    if alone {
        return Some(first);
    }
    let relatives = Lang::all().iter().copied().filter(|lang| likely(code(*lang))).collect();
    let detected = Detector::with_allowlist(relatives).detect_lang(text);
    detected.filter(|_| letters >= ENOUGH_AMONG_FEW).map(code)
}

/// Returns the language with letters that others in Cyrillic script lack.
fn cyrillic(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let has = |letters: &[char]| text.contains(letters);
    match () {
        () if has(&['ў']) => Some("be"),
        () if has(&['ї', 'є', 'ґ']) || has(&['і']) && !has(&['ы', 'э', 'ё']) => Some("uk"),
        () if has(&['ѓ', 'ќ', 'ѕ']) => Some("mk"),
        () if has(&['ђ', 'ћ']) => Some("sr"),
        () if has(&['ы', 'э', 'ё']) && !has(&['і']) => Some("ru"),
        () => None,
    }
}

/// Returns the language with letters that others in Arabic script lack. `ی` and `ک` are Persian, `ي` and `ك` Arabic.
fn arabic(text: &str) -> Option<&'static str> {
    let has = |letters: &[char]| text.contains(letters);
    match () {
        () if has(&['ټ', 'ډ', 'ړ', 'ښ', 'ې']) => Some("ps"),
        () if has(&['ٹ', 'ڈ', 'ڑ', 'ں', 'ہ', 'ے']) => Some("ur"),
        () if has(&['پ', 'چ', 'ژ', 'گ', 'ی', 'ک']) => Some("fa"),
        () if has(&['ة', 'ي', 'ى', 'ك', 'أ', 'إ', 'ؤ', 'ئ']) => Some("ar"),
        () => None,
    }
}

fn in_script(text: &str, letters: usize) -> Option<&'static str> {
    let detected = whatlang::detect(text)?;
    (detected.is_reliable() || letters >= ENOUGH_AMONG_FEW).then(|| code(detected.lang()))
}
