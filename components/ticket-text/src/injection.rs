//! Detects prompt injections: attempts to give a language model new instructions, to extract its instructions, or to
//! forge its context. German and English.
//!
//! Patterns are sequences of word prefixes with a few words between: they tolerate inflection and cost one pass over
//! the text.

mod masks;
#[cfg(test)]
mod tests;

use bulkhead_text::clean::Rendered;

use crate::lists::injection::{
    BEFORE_ORDERS, COMMANDS, FRAMES, IMPERATIVES, MARKS, ORDERED, OWN, PATTERNS, SPEAKERS,
};

/// A sequence of word prefixes; each step lists alternatives.
type Pattern = &'static [&'static [&'static str]];

/// A speaker that messages of programs have, too: it is forged only before an imperative.
const SYSTEM: &str = "system:";

/// Maximum number of words between two steps of a pattern.
const GAP: usize = 3;

/// Returns whether a ticket holds a prompt injection: in its `source`, in its hidden text, or in its visible text.
pub fn is_injected_ticket(source: &str, rendered: &Rendered) -> bool {
    let plain = &rendered.plain;
    !rendered.hidden.is_empty() || is_injected(source) || plain != source && is_injected(plain)
}

/// Returns whether `text` holds a prompt injection.
pub fn is_injected(text: &str) -> bool {
    if text.chars().any(masks::is_hidden) {
        return true;
    }
    let plain = masks::unmasked(text);
    let close: String = plain.split_whitespace().collect();
    let is_framed =
        MARKS.iter().any(|mark| plain.contains(mark)) || FRAMES.iter().any(|frame| close.contains(frame));
    if is_framed || plain.lines().any(is_forged) {
        return true;
    }
    let words = spelt_out(&plain);
    PATTERNS.iter().any(|pattern| stands_in(pattern, &words, |_| true))
        || ORDERED.iter().any(|pattern| stands_in(pattern, &words, |start| is_order(&words, start)))
}

/// Returns the patterns as text, to compare two hosts.
pub fn prompt() -> String {
    let words = [IMPERATIVES, BEFORE_ORDERS, OWN, MARKS, FRAMES, SPEAKERS, COMMANDS];
    format!("{PATTERNS:?} {ORDERED:?} {words:?}")
}

/// Returns whether `line` forges the speaker of a conversation. Leading signs of lists and headings are ignored.
fn is_forged(line: &str) -> bool {
    let line = line.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    SPEAKERS.iter().any(|speaker| line.starts_with(speaker))
        || line.strip_prefix(SYSTEM).is_some_and(|rest| is_order_or_role(&spelt_out(rest)))
}

fn is_order_or_role(words: &[Word]) -> bool {
    words.iter().any(|word| fits_any(word, COMMANDS))
        || stands_in(&[&["you", "du"], &["are", "bist"]], words, |_| true)
}

/// A word of a text.
#[derive(Debug, Default)]
struct Word {
    letters: String,
    /// Whether a sentence, or a part of one, begins with it.
    begins: bool,
}

/// Returns the words of `text`: digits inside words become the letters they resemble, and spaced letters become one
/// word.
fn spelt_out(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut spelt, mut begins) = (Word::default(), true);
    let separated = text.split_inclusive(|letter: char| !letter.is_alphanumeric());
    for part in separated {
        let letters = part.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        let separator = part.get(letters.len()..).unwrap_or_default();
        let is_letter = letters.chars().nth(1).is_none() && letters.chars().all(char::is_alphabetic);
        if !letters.is_empty() && is_letter {
            spelt.begins |= spelt.letters.is_empty() && begins;
            spelt.letters.push_str(letters);
        } else if !letters.is_empty() {
            words.extend((!spelt.letters.is_empty()).then(|| std::mem::take(&mut spelt)));
            words.push(Word { letters: worded(letters), begins });
        }
        let ends = separator.contains(|sign: char| sign != ' ' && sign != '\t');
        begins = ends || begins && letters.is_empty();
    }
    words.extend((!spelt.letters.is_empty()).then_some(spelt));
    words
}

fn worded(letters: &str) -> String {
    let has_letters = letters.chars().any(char::is_alphabetic);
    if has_letters { letters.chars().map(letter).collect() } else { letters.to_owned() }
}

fn letter(character: char) -> char {
    match character {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        other => other,
    }
}

/// Returns whether `pattern` begins with a word that `may_begin` it, by its index. Words of the sender's own between
/// its steps break it.
fn stands_in(pattern: Pattern, words: &[Word], may_begin: impl Fn(usize) -> bool) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return false };
    (0..words.len()).any(|start| {
        let begins = words.get(start).is_some_and(|word| fits_any(word, first));
        let mut at = start + 1;
        begins
            && !is_own(words, start.wrapping_sub(1))
            && may_begin(start)
            && rest.iter().all(|alternatives| {
                let between = words.iter().skip(at).take(1 + GAP);
                let found = between
                    .take_while(|word| fits_any(word, alternatives) || !OWN.contains(&word.letters.as_str()))
                    .position(|word| fits_any(word, alternatives));
                at += found.map_or(0, |place| place + 1);
                found.is_some()
            })
    })
}

fn is_own(words: &[Word], place: usize) -> bool {
    words.get(place).is_some_and(|word| matches!(word.letters.as_str(), "i" | "ich" | "we" | "wir"))
}

/// Returns whether the verb at `start` is an imperative.
fn is_order(words: &[Word], start: usize) -> bool {
    let is = |place: usize, list: &[&str]| {
        words.get(place).is_some_and(|word| list.contains(&word.letters.as_str()))
    };
    is(start, IMPERATIVES)
        || is(start + 1, &["sie"])
        || words.get(start).is_some_and(|word| word.begins)
        || is(start.wrapping_sub(1), BEFORE_ORDERS)
}

fn fits_any(word: &Word, alternatives: &[&str]) -> bool {
    alternatives.iter().any(|begin| fits(&word.letters, begin))
}

/// Returns whether `word` begins with `begin`. Short prefixes match whole words only: `a` does not match `abends`.
fn fits(word: &str, begin: &str) -> bool {
    if begin.chars().nth(3).is_none() { word == begin } else { word.starts_with(begin) }
}
