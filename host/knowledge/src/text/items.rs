//! Items of a passage: its sentences, list items and table rows, each with a vector of its own, and its document's
//! title.

#[cfg(test)]
mod tests;

use std::ops::Range;

use bulkhead_text::sentences::BULLETS;

use super::chunk;
use crate::text;

/// 1 in a byte.
const ONE: f32 = 127.0;
/// Bytes before an item's vector: where it begins and ends, 32 bits each, little-endian.
const HEAD: usize = 8;
/// Characters of a line at least that is cut off because it is long.
const WRAPPED: usize = 50;
/// Letters of an abbreviation before a number at most.
const LONGEST_ABBREVIATION: usize = 4;
/// Digits of an ordinal number at most.
const LONGEST_ORDINAL: usize = 2;

/// A sentence, a list item or a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassageItem {
    /// Where it is in its passage's text, in bytes, without a list's mark; empty for the title.
    pub range: Range<usize>,
    /// The text that is embedded for it.
    pub content: String,
}

/// An item with its nearness to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredItem {
    /// Where it is in its passage's text, in bytes.
    pub range: Range<usize>,
    /// The greatest cosine of it and of one of the question's vectors.
    pub score: f32,
}

/// Cuts the `passage` of a document with this title into items, in order, after the title. Headings are part of the
/// items below them.
pub(crate) fn items(title: &str, passage: &str) -> Vec<PassageItem> {
    let headings = chunk::headings(passage);
    let own = ranges(passage).into_iter();
    let own = own.filter(|range| !headings.iter().any(|heading| heading.contains(&range.start)));
    let titled = PassageItem { range: 0..0, content: title.to_owned() };
    let own = own.map(|range| {
        let heading = chunk::above(passage, &headings, range.start).unwrap_or_default();
        let parts = [title].into_iter().chain(heading.split("\n\n"));
        let mut above: Vec<&str> = Vec::new();
        for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
            if !above.contains(&part) {
                above.push(part);
            }
        }
        let own = text::one_line(passage.get(range.clone()).unwrap_or_default());
        PassageItem { range, content: format!("{}: {own}", above.join(" – ")) }
    });
    [titled].into_iter().chain(own).collect()
}

/// Returns where the items of `passage` are: a line is no longer than an item, unless the next one continues it.
fn ranges(passage: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (start, piece) in chunk::sentences(passage) {
        let trimmed = piece.trim();
        let start = start + (piece.len() - piece.trim_start().len());
        let (own, end) = (unmarked(trimmed), start + trimmed.len());
        if own.is_empty() {
            continue;
        }
        let is_marked = own.len() < trimmed.len();
        let last = ranges.last_mut().filter(|last| {
            let before = passage.get(last.start..last.end).unwrap_or_default();
            let between = passage.get(last.end..start).unwrap_or_default();
            !is_marked && !between.contains("\n\n") && continues(before, own)
        });
        match last {
            Some(last) => last.end = end,
            None => ranges.push(end - own.len()..end),
        }
    }
    ranges
}

/// Returns `line` without the mark of a list's item.
fn unmarked(line: &str) -> &str {
    BULLETS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim_start()
}

/// Returns whether `next` is part of the sentence that `before` begins: a long line goes on with a small letter, or the
/// full stop is that of an abbreviation.
fn continues(before: &str, next: &str) -> bool {
    if next.starts_with(char::is_lowercase) {
        let is_wrapped =
            before.lines().next_back().is_some_and(|line| line.chars().nth(WRAPPED - 1).is_some());
        return is_wrapped && !before.ends_with(['.', '!', '?', ':']);
    }
    let word = before.strip_suffix('.').and_then(|rest| rest.rsplit([' ', '\n', '(', '.']).next());
    word.is_some_and(|word| {
        let length = word.chars().count();
        let is_ordinal = length <= LONGEST_ORDINAL && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_letter = length == 1 && word.chars().all(char::is_alphabetic);
        let spoken = word.to_lowercase().contains(['a', 'e', 'i', 'o', 'u', 'y', 'ä', 'ö', 'ü']);
        let is_before_number = length <= LONGEST_ABBREVIATION && next.starts_with(char::is_numeric);
        length > 0
            && (is_ordinal || is_letter || is_before_number || !spoken && !word.contains(char::is_numeric))
    })
}

/// Encodes items with the directions of their vectors as they are stored, eight bits a number.
pub(crate) fn encode<'v>(items: impl IntoIterator<Item = (&'v PassageItem, Vec<f32>)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (item, direction) in items {
        for place in [item.range.start, item.range.end] {
            bytes.extend(u32::try_from(place).unwrap_or(u32::MAX).to_le_bytes());
        }
        let greatest = direction.iter().fold(0.0_f32, |greatest, number| greatest.max(number.abs()));
        let scale = if greatest > 0.0 { ONE / greatest } else { 0.0 };
        bytes.extend(direction.iter().map(|number| ((number * scale).round() as i8).cast_unsigned()));
    }
    bytes
}

/// Returns the nearness of the title of the `stored` items to a question; 0 without items.
pub(crate) fn title_nearness(stored: &[u8], question: &[f32]) -> f32 {
    let title = stored.get(..HEAD + question.len()).unwrap_or_default();
    scored(title, &[question.to_vec()]).first().map_or(0.0, |title| title.score)
}

/// Returns the stored items with their nearness to the `questions`, which are directions of one length, without the
/// title.
pub(crate) fn score(stored: &[u8], questions: &[Vec<f32>]) -> Vec<ScoredItem> {
    scored(stored, questions).into_iter().filter(|item| !item.range.is_empty()).collect()
}

fn scored(stored: &[u8], questions: &[Vec<f32>]) -> Vec<ScoredItem> {
    let Some(dims) = questions.first().map(Vec::len) else { return Vec::new() };
    let place = |bytes: &[u8]| {
        let bytes = bytes.first_chunk::<4>().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes));
        usize::try_from(bytes).unwrap_or(usize::MAX)
    };
    let items = stored.chunks_exact(HEAD + dims).filter_map(|item| {
        let (head, vector) = item.split_at_checked(HEAD)?;
        let (start, end) = head.split_at_checked(HEAD / 2)?;
        let vector: Vec<f32> = vector.iter().map(|byte| f32::from(byte.cast_signed())).collect();
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let cosine = |question: &Vec<f32>| {
            let product: f32 = vector.iter().zip(question).map(|(own, other)| own * other).sum();
            if length > 0.0 { product / length } else { 0.0 }
        };
        let score = questions.iter().map(cosine).fold(-1.0, f32::max);
        Some(ScoredItem { range: place(start)..place(end), score })
    });
    items.collect()
}
