//! Splitting of a text into passages: as long as a model reads at once, cut at sentences and paragraphs, each with
//! its headings and the end of the one before.

#[cfg(test)]
mod tests;

use std::ops::Range;

use bulkhead_text::sentences::{End, between, ends, ends_with_date};

/// Between paragraphs.
const BETWEEN: &str = "\n\n";

/// How long passages are, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSize {
    /// Most characters of a passage.
    pub most: usize,
    /// Most characters that a passage repeats of the one before: whole sentences only.
    pub overlap: usize,
}

impl Default for ChunkSize {
    /// Returns about 300 tokens of German: models read 512, and a passage keeps to one topic.
    fn default() -> Self {
        Self { most: 1000, overlap: 150 }
    }
}

/// A sentence or a piece of one, with the space behind it.
struct Piece {
    range: Range<usize>,
    characters: usize,
    ends_paragraph: bool,
}

/// Characters of a heading at most.
const LONGEST_HEADING: usize = 120;

/// Cuts `text` into passages, in order. No passage is empty.
pub(crate) fn passages(text: &str, size: ChunkSize) -> Vec<String> {
    let most = size.most.max(1);
    let pieces = pieces(text, most);
    let headings = headings(text);
    let mut passages = Vec::new();
    let mut start = 0;
    while start < pieces.len() {
        let at = pieces.get(start).map_or(0, |piece| piece.range.start);
        let above = above(text, &headings, at).filter(|above| above.chars().count() * 2 < most);
        let room = above.map_or(most, |above| most - above.chars().count() - BETWEEN.len());
        let end = end(&pieces, start, room.max(1));
        let range = pieces.get(start).zip(pieces.get(end - 1));
        let passage = range.and_then(|(first, last)| text.get(first.range.start..last.range.end));
        if let Some(passage) = passage.map(str::trim).filter(|passage| !passage.is_empty()) {
            passages.push(match above.filter(|_| passage.chars().count() <= room) {
                Some(above) => format!("{above}{BETWEEN}{passage}"),
                None => passage.to_owned(),
            });
        }
        if end >= pieces.len() {
            break;
        }
        start = resume(&pieces, start, end, size.overlap.min(most / 2));
    }
    passages
}

/// Finds the headings in `text`, those that follow each other as one: short lines with empty lines around them that
/// no stop ends.
pub(crate) fn headings(text: &str) -> Vec<Range<usize>> {
    let mut headings: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for paragraph in text.split(BETWEEN) {
        let range = start..start + paragraph.len();
        start = range.end + BETWEEN.len();
        if !is_heading_like(paragraph) || range.end == text.len() {
            continue;
        }
        match headings.last_mut().filter(|last| last.end + BETWEEN.len() == range.start) {
            Some(last) => last.end = range.end,
            None => headings.push(range),
        }
    }
    headings
}

/// Returns whether `paragraph` has the form of a heading: a short line that no stop ends.
pub(crate) fn is_heading_like(paragraph: &str) -> bool {
    let begins = paragraph.chars().next().is_some_and(|first| first.is_uppercase() || first.is_numeric());
    let short = paragraph.chars().nth(LONGEST_HEADING).is_none() && !paragraph.contains('\n');
    let stopped = paragraph.ends_with(['.', '!', '…']) && !ends_with_date(paragraph);
    begins && short && !stopped
}

/// Returns the heading above the position `at`; `None` over a heading, which begins its own passage.
pub(crate) fn above<'t>(text: &'t str, headings: &[Range<usize>], at: usize) -> Option<&'t str> {
    let next = headings.partition_point(|heading| heading.end <= at);
    let is_heading = headings.get(next).is_some_and(|heading| heading.contains(&at));
    let last = headings.get(next.checked_sub(1)?).filter(|_| !is_heading)?;
    text.get(last.clone())
}

/// Returns one past the last piece of the passage that begins with `start`: as many as fit, back to the end of a
/// paragraph if that leaves at least half.
fn end(pieces: &[Piece], start: usize, most: usize) -> usize {
    let mut characters = 0;
    let mut end = start;
    let mut paragraph = None;
    for piece in pieces.iter().skip(start) {
        if characters + piece.characters > most && end > start {
            return paragraph.unwrap_or(end);
        }
        characters += piece.characters;
        end += 1;
        if piece.ends_paragraph && characters * 2 >= most {
            paragraph = Some(end);
        }
    }
    end
}

/// Returns where the passage after `start..end` begins: as many whole pieces back as the overlap holds.
fn resume(pieces: &[Piece], start: usize, end: usize, overlap: usize) -> usize {
    let mut characters = 0;
    let before = pieces.get(start + 1..end).unwrap_or_default().iter().rev();
    let repeated = before.take_while(|piece| {
        characters += piece.characters;
        characters <= overlap
    });
    end - repeated.count()
}

/// Splits `text` into sentences; those of more than `most` characters into pieces, cut between words if there are
/// any.
fn pieces(text: &str, most: usize) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut add = |range: Range<usize>, part: &str| {
        let ends_paragraph = text.get(..range.end).is_some_and(|head| head.ends_with("\n\n"));
        pieces.push(Piece { range, characters: part.chars().count(), ends_paragraph });
    };
    for (start, sentence) in sentences(text) {
        if sentence.chars().count() <= most {
            add(start..start + sentence.len(), sentence);
            continue;
        }
        let mut from = 0;
        while let Some(rest) = sentence.get(from..).filter(|rest| !rest.is_empty()) {
            let cut = rest.char_indices().nth(most).map_or(rest.len(), |(index, _)| index);
            let head = rest.get(..cut).unwrap_or(rest);
            let space = head.rfind(char::is_whitespace).map(|space| space + 1).filter(|space| *space < cut);
            let length = if cut == rest.len() { cut } else { space.unwrap_or(cut) };
            let part = rest.get(..length).unwrap_or(rest);
            add(start + from..start + from + part.len(), part);
            from += part.len();
        }
    }
    pieces
}

/// Splits text into sentences and lines with their offsets. A line end ends a sentence (headings and list items have
/// no full stop), and belongs to it.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    let mut lines = Vec::new();
    let line_ends = text.match_indices('\n').map(|(index, _)| index + 1).chain([text.len()]);
    for end in line_ends {
        let more = text.get(end..).is_some_and(|rest| rest.starts_with('\n'));
        if !more && end > start {
            lines.push((start, text.get(start..end).unwrap_or_default()));
            start = end;
        }
    }
    lines.into_iter().flat_map(|(offset, line)| {
        let starts = ends(line).filter(is_end).map(|end| line.len() - end.next.len());
        let sentence = move |part: Range<usize>| Some((offset + part.start, line.get(part)?));
        between(starts, line.len()).into_iter().filter_map(sentence)
    })
}

/// Returns whether a sentence ends here: a point before a small letter is one of an abbreviation.
fn is_end(end: &End<'_>) -> bool {
    let first = || end.next.chars().find(|sign| sign.is_alphabetic() || ".!?".contains(*sign));
    match end.mark {
        '.' => !first().is_some_and(char::is_lowercase),
        mark => mark != '…',
    }
}
