//! Splits texts into sentences and clauses, and finds their tense.

mod dates;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::ops::Range;

use bulkhead_text::abbreviations::is_abbreviated;
use bulkhead_text::sentences::{End, between, ends};

use crate::lists::tense::{
    APPOINTED, FUTURE, IRREGULAR, NO_PARTICIPLES, ON, PARTICIPLES, PAST, PERFECT, REQUESTED, SEPARABLE,
};

/// Returns the byte ranges of sentences in `text`, which end with a mark and a space, or with a line. The points of
/// "3. Mai" and "Dr. Mai" end none.
pub fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        start += line.len();
        (start - line.len(), line)
    });
    lines.flat_map(|(offset, line)| {
        let ends = ends(line).filter(is_end).map(|end| end.at());
        let parts = between(ends, line.trim_end_matches('\n').len()).into_iter();
        parts.map(move |part| offset + part.start..offset + part.end)
    })
}

fn is_end(end: &End<'_>) -> bool {
    let is_of_word = || match end.before.ends_with(|c: char| c.is_ascii_digit()) {
        true => !dates::ends_sentence(end.before, end.next),
        false => is_abbreviated(end.before),
    };
    end.mark != '…' && end.closing.is_empty() && !(end.mark == '.' && is_of_word())
}

/// The tense of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tense {
    /// Past.
    Past,
    /// Future.
    Future,
}

/// The tenses of a text, computed lazily.
#[derive(Debug)]
pub struct Tenses<'t> {
    text: &'t str,
    sentences: OnceCell<Vec<Part>>,
    clauses: OnceCell<Vec<Part>>,
}

/// A part of a text with its tense.
type Part = (Range<usize>, OnceCell<Option<Tense>>);

impl<'t> Tenses<'t> {
    /// Splits `text`.
    pub fn new(text: &'t str) -> Self {
        Self { text, sentences: OnceCell::new(), clauses: OnceCell::new() }
    }

    /// Returns the tense at byte `at`: of its clause between commas, else of its sentence.
    pub fn at(&self, at: usize) -> Option<Tense> {
        let parts =
            |ranges: Vec<Range<usize>>| ranges.into_iter().map(|part| (part, OnceCell::new())).collect();
        let clauses = self.clauses.get_or_init(|| parts(clauses(self.text)));
        self.tense_in(clauses, at).or_else(|| {
            self.tense_in(self.sentences.get_or_init(|| parts(sentences(self.text).collect())), at)
        })
    }

    fn tense_in(&self, parts: &[Part], at: usize) -> Option<Tense> {
        let (part, cached) = parts.get(parts.partition_point(|(part, _)| part.end <= at))?;
        *cached.get_or_init(|| self.text.get(part.clone()).and_then(tense))
    }
}

/// Returns the byte ranges of the clauses between commas and semicolons. Those of "37,50" and "May 3, 2026" do not
/// separate clauses.
pub fn clauses(text: &str) -> Vec<Range<usize>> {
    let mut clauses = Vec::new();
    for sentence in sentences(text) {
        let mut start = sentence.start;
        let part = text.get(sentence.clone()).unwrap_or_default();
        let commas = part.match_indices([',', ';']).filter(|(at, comma)| {
            let behind = part.get(at + comma.len()..).unwrap_or_default();
            !behind.trim_start().starts_with(|letter: char| letter.is_ascii_digit())
        });
        for (at, comma) in commas {
            let end = sentence.start + at + comma.len();
            clauses.push(start..end);
            start = end;
        }
        clauses.push(start..sentence.end);
    }
    clauses
}

/// Minimum number of letters between prefix and ending of a participle.
const LEAST_STEM: usize = 2;

/// Returns whether `clause` has a participle without an auxiliary verb and so ends another clause's perfect tense, as
/// in "Am 3. Mai habe ich, wie besprochen, den Antrag gestellt".
pub fn ends_perfect(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    let has = |known: &[&str]| words(&lower).any(|word| known.contains(&word));
    words(&lower).any(is_participle) && !has(PAST) && !has(PERFECT) && !has(FUTURE)
}

/// Returns the tense of `sentence`, if its words show one.
pub fn tense(sentence: &str) -> Option<Tense> {
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let participle = words.iter().any(|word| is_participle(word));
    // "Ihr Bescheid vom 3. Mai", not "vom 3. bis zum 5. Mai"
    let dated = has(&["vom"]) && !has(&["bis"]);
    let appointed = has(APPOINTED) && !lower.split([',', ';']).any(is_requested);
    if has(PAST) || dated || (participle && has(PERFECT) && !appointed) {
        Some(Tense::Past)
    } else if appointed || has(FUTURE) {
        Some(Tense::Future)
    } else {
        participle.then_some(Tense::Past)
    }
}

/// Returns the words of `text`, with the apostrophes in them.
pub fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let words = text.split(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '\'' | '’')));
    words.filter(|word| !word.is_empty())
}

/// Returns whether the lower-case `clause` says that an appointment was requested, without its day.
fn is_requested(clause: &str) -> bool {
    let words: Vec<&str> = words(clause).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let mut pairs = words.windows(2);
    let dated = pairs.any(|pair| matches!(pair, [one, next] if APPOINTED.contains(one) && ON.contains(next)));
    has(APPOINTED) && has(REQUESTED) && has(PERFECT) && !dated
}

fn is_participle(word: &str) -> bool {
    if NO_PARTICIPLES.contains(&word) {
        return false;
    }
    if IRREGULAR.contains(&word) || word.ends_with("ed") || word.ends_with("iert") {
        return true;
    }
    let stem = word.strip_suffix("en").or_else(|| word.strip_suffix('t'));
    let begun = |stem: &str, start: &&str| {
        stem.strip_prefix(*start).is_some_and(|rest| rest.chars().count() >= LEAST_STEM)
    };
    stem.is_some_and(|stem| {
        let separated = SEPARABLE.iter().filter_map(|prefix| stem.strip_prefix(prefix));
        PARTICIPLES.iter().any(|start| begun(stem, start))
            || separated.into_iter().any(|stem| begun(stem, &"ge"))
    })
}
