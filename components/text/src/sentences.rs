//! Ends of sentences, in tickets and in the pages of a knowledge base.

#[cfg(test)]
mod tests;

use std::ops::Range;

/// Characters after the end of a sentence that still belong to it.
pub const CLOSING: &[char] = &['"', '”', '“', '»', '«', ')', '\''];
/// Marks of a list's item, each with its space.
pub const BULLETS: [&str; 4] = ["- ", "* ", "• ", "– "];
/// Marks that may end a sentence.
const MARKS: [char; 4] = ['.', '!', '?', '…'];

/// A place where a sentence may end: a mark with white space and more text after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End<'t> {
    /// The text before the mark.
    pub before: &'t str,
    /// The mark: a point, an exclamation mark, a question mark or an ellipsis.
    pub mark: char,
    /// The characters after the mark that belong to the sentence.
    pub closing: &'t str,
    /// The text after the white space; never empty.
    pub next: &'t str,
}

impl End<'_> {
    /// Returns the byte offset of the end, after the closing characters.
    pub fn at(&self) -> usize {
        self.before.len() + self.mark.len_utf8() + self.closing.len()
    }
}

/// Returns the places in `text` where a sentence may end, in order. Callers decide which of them are ends: people write
/// tickets in lower case, pages have lists of abbreviations.
pub fn ends(text: &str) -> impl Iterator<Item = End<'_>> {
    let marks = text.char_indices().filter(|(_, mark)| MARKS.contains(mark));
    marks.filter_map(move |(at, mark)| {
        let after = text.get(at + mark.len_utf8()..)?;
        let rest = after.trim_start_matches(CLOSING);
        let next = rest.trim_start();
        let closing = after.get(..after.len() - rest.len())?;
        let is_between = next.len() < rest.len() && !next.is_empty();
        is_between.then_some(End { before: text.get(..at)?, mark, closing, next })
    })
}

/// Returns the byte ranges of a text of `length` bytes between its `ends`, which are in order.
pub fn between(ends: impl Iterator<Item = usize>, length: usize) -> Vec<Range<usize>> {
    let mut start = 0;
    let parts = ends.chain([length]).map(|end| std::mem::replace(&mut start, end)..end);
    parts.collect()
}

/// Returns whether the stop of `line` belongs to a date: "Bis 31.12."
pub fn ends_with_date(line: &str) -> bool {
    let last = line.split_whitespace().next_back().and_then(|word| word.strip_suffix('.'));
    let parts = last.and_then(|date| date.split_once('.'));
    parts.is_some_and(|(day, month)| {
        [day, month].iter().all(|part| !part.is_empty() && part.chars().all(char::is_numeric))
    })
}
