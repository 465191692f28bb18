//! A passage as sentences that can be quoted.

#[cfg(test)]
mod tests;

use std::ops::Range;

/// Abbreviations that a sentence does not end with, in lower case.
const ABBREVIATIONS: &[&str] = &[
    "abs", "art", "bspw", "bzw", "ca", "d.h", "dr", "e.g", "etc", "evtl", "ggf", "hr", "fr", "i.d.r", "i.e",
    "inkl", "max", "min", "mind", "mr", "mrs", "ms", "no", "nr", "o.ä", "s", "sog", "st", "std", "str",
    "tel", "u.a", "usw", "vgl", "vs", "z.b", "zzgl",
];

/// A piece of a passage that makes sense by itself, as far as its punctuation tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Its bytes in the passage.
    pub range: Range<usize>,
    /// Its words: the passage's, on one line; a list keeps its lines.
    pub text: String,
    /// Whether it is whole: no heading, and not cut off where the passage begins or ends.
    pub whole: bool,
}

/// The sentences of `text`, in order. A line that ends with a colon and the list below it are one.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = Vec::new();
    let mut paragraph: Option<Range<usize>> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.trim_end().len();
        at += line.len();
        let content = line.trim();
        let begins = content.is_empty() || is_item(content) || is_heading(content);
        if begins && let Some(paragraph) = paragraph.take() {
            found.extend(split(text, paragraph));
        }
        if content.is_empty() {
            continue;
        }
        if is_item(content) && in_list(&found, text, &range) {
            extend(&mut found, text, range);
        } else if is_heading(content) {
            found.push(Sentence { text: content.to_owned(), range, whole: false });
        } else {
            paragraph = Some(paragraph.map_or(range.clone(), |open| open.start..range.end));
        }
    }
    if let Some(paragraph) = paragraph {
        found.extend(split(text, paragraph));
    }
    found
}

fn is_item(line: &str) -> bool {
    let bullet = ["- ", "* ", "• ", "– "].iter().any(|bullet| line.starts_with(bullet));
    let numbered = line.split_once(['.', ')']).is_some_and(|(number, rest)| {
        !number.is_empty()
            && number.len() <= 2
            && number.bytes().all(|b| b.is_ascii_digit())
            && rest.starts_with(' ')
    });
    bullet || numbered
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#')
}

/// Whether an item at `range` goes on with what the last sentence began: a line with a colon, or its list.
fn in_list(found: &[Sentence], text: &str, range: &Range<usize>) -> bool {
    let Some(last) = found.last() else { return false };
    let between = text.get(last.range.end..range.start).unwrap_or_default();
    let listed = last.text.ends_with(':') || last.text.lines().skip(1).any(is_item);
    listed && between.trim().is_empty()
}

fn extend(found: &mut [Sentence], text: &str, range: Range<usize>) {
    let Some(last) = found.last_mut() else { return };
    last.text.push('\n');
    last.text.push_str(text.get(range.clone()).unwrap_or_default().trim());
    last.range.end = range.end;
}

/// The sentences of a paragraph.
fn split(text: &str, paragraph: Range<usize>) -> Vec<Sentence> {
    let content = text.get(paragraph.clone()).unwrap_or_default();
    let mut found = Vec::new();
    let mut start = 0;
    for end in ends(content) {
        found.extend(sentence(content, start..end, paragraph.start));
        start = end;
    }
    found.extend(sentence(content, start..content.len(), paragraph.start));
    found
}

fn sentence(content: &str, range: Range<usize>, offset: usize) -> Option<Sentence> {
    let raw = content.get(range.clone())?;
    let trimmed = raw.trim();
    if trimmed.is_empty() {
        return None;
    }
    let start = offset + range.start + (raw.len() - raw.trim_start().len());
    let text = trimmed.split_whitespace().collect::<Vec<_>>().join(" ");
    let begun = text.chars().next().is_some_and(|first| !first.is_lowercase() && !",;:.)".contains(first));
    let ended = text.trim_end_matches(CLOSING).ends_with(['.', '!', '?', '…', ':']) || is_item(&text);
    Some(Sentence { range: start..start + trimmed.len(), text, whole: begun && ended })
}

/// What may stand behind the end of a sentence and still belong to it.
const CLOSING: &[char] = &['"', '”', '“', '»', '«', ')', '\''];

/// Where sentences end: bytes behind the last character of each, the closing ones included.
fn ends(content: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    for (at, sign) in content.char_indices().filter(|(_, sign)| ".!?…".contains(*sign)) {
        let after = content.get(at + sign.len_utf8()..).unwrap_or_default();
        let rest = after.trim_start_matches(CLOSING);
        let next = rest.trim_start();
        let spaced = next.len() < rest.len();
        let begins = next.chars().next().is_some_and(|first| !first.is_lowercase());
        let before = content.get(..at).unwrap_or_default();
        if spaced && begins && !(sign == '.' && is_abbreviated(before)) {
            ends.push(content.len() - rest.len());
        }
    }
    ends
}

/// Whether a full stop behind `before` belongs to its last word: an abbreviation, a letter, or an ordinal number.
fn is_abbreviated(before: &str) -> bool {
    let word =
        before.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or_default();
    let word = word.to_lowercase();
    let letters = word.chars().count();
    let ordinal = letters <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let initial = letters == 1 && word.chars().all(char::is_alphabetic);
    ordinal || initial || ABBREVIATIONS.contains(&word.as_str())
}
