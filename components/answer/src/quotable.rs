//! Splits passages into sentences that can be quoted.

#[cfg(test)]
mod tests;

use std::ops::Range;

use bulkhead_text::abbreviations::is_abbreviated;
use bulkhead_text::sentences::{BULLETS, CLOSING, End, between, ends, ends_with_date};

use crate::lists::sentences::ABBREVIATIONS;

/// Bytes of a list from which each item is a sentence of its own, to bound the length of answers.
const LONGEST_LIST: usize = 1_000;
/// Maximum number of characters of a heading.
const LONGEST_HEADING: usize = 120;

/// A part of a passage that is self-contained, judged by punctuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Its byte range in the passage.
    pub range: Range<usize>,
    /// Its text on one line; a list keeps its lines.
    pub text: String,
    /// Whether it is complete: not a heading, and not cut off at the passage's beginning or end.
    pub whole: bool,
    /// Whether it has the form of a heading: a short line on its own without a full stop. A question may be one.
    pub heading: bool,
    /// Indices of the nearest headings above it.
    pub under: Range<usize>,
}

impl Sentence {
    fn new(range: Range<usize>, text: String, whole: bool) -> Self {
        Self { range, text, whole, heading: false, under: 0..0 }
    }

    /// Returns whether it states nothing: a question, or a heading without a figure.
    pub fn states_nothing(&self) -> bool {
        let marked = is_heading(&self.text);
        marked || is_question(&self.text) || self.heading && !self.text.contains(char::is_numeric)
    }
}

/// Returns whether `text` is a question.
pub fn is_question(text: &str) -> bool {
    text.trim_end_matches(CLOSING).ends_with('?')
}

/// Returns whether `text` ends with a stop, so that another sentence follows.
pub fn is_ended(text: &str) -> bool {
    text.trim_end_matches(CLOSING).ends_with(['.', '!', '?', '…', ':'])
}

/// Returns the sentences of `text`, in order. A line that ends with a colon and the list below it are one sentence.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = cut(text);
    let (mut headings, mut begun) = (0..0, false);
    for (place, sentence) in found.iter_mut().enumerate() {
        sentence.heading = is_over_others(text, sentence);
        // A paragraph may begin with a small letter, as rows of tables do; the first of a passage may be cut off.
        sentence.whole |= begun && begins_paragraph(text, sentence) && is_ended(&sentence.text);
        begun |= !sentence.heading;
        sentence.under = headings.clone();
        if sentence.heading {
            let first = if headings.end == place { headings.start } else { place };
            headings = first..place + 1;
        }
    }
    found
}

fn begins_paragraph(text: &str, sentence: &Sentence) -> bool {
    text.get(..sentence.range.start).is_some_and(|above| above.ends_with("\n\n"))
}

/// Returns whether `sentence` has the form of a heading in `text`.
fn is_over_others(text: &str, sentence: &Sentence) -> bool {
    let line = sentence.text.as_str();
    if is_heading(line) {
        return true;
    }
    let above = text.get(..sentence.range.start).unwrap_or_default();
    let below = text.get(sentence.range.end..).unwrap_or_default();
    let (first, last) = (above.trim().is_empty(), below.trim().is_empty());
    let alone = (first || above.ends_with("\n\n")) && (last || below.starts_with("\n\n")) && !(first && last);
    let stopped = line.ends_with(['.', '!', '…']) && !ends_with_date(line);
    let begins = line.chars().next().is_some_and(|first| !first.is_lowercase());
    let is_line = text.get(sentence.range.clone()).is_some_and(|own| !own.contains('\n'));
    let short = line.chars().nth(LONGEST_HEADING).is_none() && is_line;
    alone && begins && short && !stopped && !is_item(line)
}

fn cut(text: &str) -> Vec<Sentence> {
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
            found.push(Sentence::new(range, content.to_owned(), false));
        } else {
            paragraph = Some(paragraph.map_or(range.clone(), |open| open.start..range.end));
        }
    }
    if let Some(paragraph) = paragraph {
        found.extend(split(text, paragraph));
    }
    found
}

/// Returns whether `text`, a sentence, is a list in the imports' form, without an introducing line.
pub fn is_list(text: &str) -> bool {
    text.starts_with("- ")
}

fn is_item(line: &str) -> bool {
    let bullet = BULLETS.iter().any(|bullet| line.starts_with(bullet));
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

/// Returns whether an item at `range` continues the last sentence: a line with a colon, or a list.
fn in_list(found: &[Sentence], text: &str, range: &Range<usize>) -> bool {
    let Some(last) = found.last() else { return false };
    let between = text.get(last.range.end..range.start).unwrap_or_default();
    let listed = last.text.ends_with(':') || last.text.lines().any(is_item);
    listed && last.text.len() < LONGEST_LIST && between.trim().is_empty()
}

fn extend(found: &mut [Sentence], text: &str, range: Range<usize>) {
    let Some(last) = found.last_mut() else { return };
    last.text.push('\n');
    last.text.push_str(text.get(range.clone()).unwrap_or_default().trim());
    last.range.end = range.end;
}

/// Returns the sentences of a paragraph.
fn split(text: &str, paragraph: Range<usize>) -> Vec<Sentence> {
    let content = text.get(paragraph.clone()).unwrap_or_default();
    let ends = ends(content).filter(is_end).map(|end| end.at());
    let parts = between(ends, content.len()).into_iter();
    parts.filter_map(|part| sentence(content, part, paragraph.start)).collect()
}

fn is_end(end: &End<'_>) -> bool {
    !(end.next.starts_with(char::is_lowercase) || end.mark == '.' && ends_abbreviated(end.before))
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
    let ended = is_ended(&text) || is_item(&text);
    Some(Sentence::new(start..start + trimmed.len(), text, begun && ended))
}

/// Returns whether a full stop after `before` belongs to its last word: an abbreviation, a letter, or an ordinal
/// number.
fn ends_abbreviated(before: &str) -> bool {
    let word =
        before.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or_default();
    let ordinal = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    ordinal || is_abbreviated(before) || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}
