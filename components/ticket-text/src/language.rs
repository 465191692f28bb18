//! The language of a text, as far as answers depend on it.
//!
//! Frequent words decide: they are few in every language, and no sentence goes without them. Trigrams decide among
//! related languages, in longer texts without such words, and in other scripts. Where neither is clear, nothing is
//! claimed: an answer in a language that its reader may not know is worse than a clerk's.

mod codes;
mod evidence;
mod frequent;
#[cfg(test)]
mod tests;

use codes::code;
use evidence::Evidence;
use whatlang::{Detector, Info, Lang, Script};

/// What answers and reasons are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// German.
    German,
    /// English.
    English,
}

/// The share of a text's words that its language must have.
const LEAST_SHARE: f32 = 0.15;
/// What must speak for it at all: one word of office matters.
const LEAST_SCORE: f32 = 0.5;
/// There must be as many times more of it than of any other language's.
const LEAD: f32 = 1.3;
/// What must speak for English in a text with German letters.
const ENOUGH_ENGLISH: f32 = 2.0;
/// Letters from which on trigrams alone are believed: those of a short text look like many languages.
const ENOUGH_LETTERS: usize = 40;
/// Letters from which on they tell apart the few languages of a script, or that share frequent words.
const ENOUGH_AMONG_FEW: usize = 12;

/// Ends of streets' names: `Lindenstraße`, `Lindenstr.`, `Lindenallee`.
const STREETS: &[&str] = &["straße", "strasse", "str", "allee"];

impl Language {
    /// Its code (ISO 639-1).
    pub fn code(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::English => "en",
        }
    }
}

/// The code (ISO 639-1) of the language of `text`; nothing where that is not certain, or where it has no words.
pub fn detect(text: &str) -> Option<&'static str> {
    detect_in(&without_names(text))
}

/// Which of the two languages `text` is answered in, and talked about: English where it is that, else German. Trigrams
/// decide between the two where nothing is certain, as of a few words to search for; of fewer letters than they can
/// tell apart, and of those that English has not, it is German.
pub fn german_or_english(text: &str) -> Language {
    let text = without_names(text);
    let guessed =
        || between(&text).filter(|_| letters(&text) >= ENOUGH_AMONG_FEW && !has_german_letters(&text));
    match detect_in(&text).or_else(guessed) {
        Some("en") => Language::English,
        _ => Language::German,
    }
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

/// `text` without what is written alike in every language: names of streets, and addresses of pages and of mail.
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

/// Whether `text` has letters that English writes in names and borrowed words only.
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
    // Either of the two is answered: the one that more speaks for will do.
    if speaks && german.max(english) >= LEAD * others {
        // "Name ändern": a word or two that are English as well say less than the letters of the others.
        if first == "en" && english < ENOUGH_ENGLISH && has_german_letters(text) {
            return Some("de");
        }
        return if german == english { either(text, letters) } else { Some(first) };
    }
    let trigrams = whatlang::detect(text).filter(|info| letters >= ENOUGH_LETTERS && info.is_reliable());
    if speaks && best > german.max(english) * LEAD {
        return related(text, letters, &evidence, trigrams);
    }
    // Trigrams may not say against the words that one of the two is meant.
    let told = code(trigrams?.lang());
    (!is_ours(told) || evidence.score(told) >= others).then_some(told)
}

/// German or English, by trigrams.
fn either(text: &str, letters: usize) -> Option<&'static str> {
    between(text).filter(|_| letters >= ENOUGH_LETTERS)
}

fn between(text: &str) -> Option<&'static str> {
    Detector::with_allowlist(vec![Lang::Deu, Lang::Eng]).detect_lang(text).map(code)
}

/// Which of the languages it is that words of `text` speak for about as much.
fn related(text: &str, letters: usize, evidence: &Evidence, trigrams: Option<Info>) -> Option<&'static str> {
    let (first, best) = *evidence.scores.first()?;
    let likely = |code: &str| evidence.score(code) * LEAD >= best;
    // Many a language has no list, and a relative that has one.
    let unlisted = |told: &&str| evidence.scores.iter().all(|(code, _)| code != told);
    if let Some(told) = trigrams.map(|info| code(info.lang())).filter(|told| likely(told) || unlisted(told)) {
        return Some(told);
    }
    let alone = evidence.scores.iter().filter(|(code, _)| likely(code)).count() == 1;
    if alone {
        return Some(first);
    }
    let relatives = Lang::all().iter().copied().filter(|lang| likely(code(*lang))).collect();
    let told = Detector::with_allowlist(relatives).detect_lang(text);
    told.filter(|_| letters >= ENOUGH_AMONG_FEW).map(code)
}

/// Languages with letters that the others with theirs do not write.
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

/// Languages with letters that the others with theirs do not write. `ی` and `ک` are Persian, `ي` and `ك` Arabic.
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
    let told = whatlang::detect(text)?;
    (told.is_reliable() || letters >= ENOUGH_AMONG_FEW).then(|| code(told.lang()))
}
