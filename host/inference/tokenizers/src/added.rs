//! Added tokens (`[CLS]`, `<mask>`) in a text: they are split off before all other steps.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// One added token, which is matched in a text literally.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pattern {
    pub(super) content: String,
    pub(super) id: u32,
    /// Whether the white space to its left goes with it.
    pub(super) lstrip: bool,
    /// The same to its right.
    pub(super) rstrip: bool,
    /// Left to the reference: it counts between certain characters only.
    pub(super) single_word: bool,
}

/// Strings to be found in a text.
pub(super) struct Added {
    patterns: Vec<Pattern>,
    /// Their first bytes, each once.
    firsts: Vec<u8>,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Text between added tokens.
    Text(Range<usize>),
    /// An added token.
    Token(u32),
    /// One that the reference is to judge.
    Unclear,
}

impl Added {
    pub(super) fn new(patterns: Vec<Pattern>) -> Self {
        let mut firsts: Vec<u8> =
            patterns.iter().filter_map(|pattern| pattern.content.bytes().next()).collect();
        firsts.sort_unstable();
        firsts.dedup();
        Self { patterns, firsts }
    }

    /// Returns whether the text has any of them.
    #[inline]
    pub(super) fn occurs(&self, text: &[u8]) -> bool {
        !self.firsts.is_empty() && self.find(text, 0).is_some()
    }

    /// Finds the first of them at or behind an offset; of several at one place the longest.
    fn find(&self, text: &[u8], from: usize) -> Option<(usize, &Pattern)> {
        let here = |at: usize| {
            let rest = text.get(at..)?;
            let fitting = self.patterns.iter().filter(|pattern| rest.starts_with(pattern.content.as_bytes()));
            fitting.max_by_key(|pattern| pattern.content.len()).map(|pattern| (at, pattern))
        };
        let rest = text.get(from..)?;
        match *self.firsts.as_slice() {
            [] => None,
            [one] => memchr::memchr_iter(one, rest).find_map(|at| here(from + at)),
            [one, two] => memchr::memchr2_iter(one, two, rest).find_map(|at| here(from + at)),
            [one, two, three] => memchr::memchr3_iter(one, two, three, rest).find_map(|at| here(from + at)),
            ref many => {
                let starts = |at: &usize| text.get(*at).is_some_and(|byte| many.contains(byte));
                (from..text.len()).filter(starts).find_map(here)
            }
        }
    }

    /// Cuts a text at the tokens in it, as the reference does.
    pub(super) fn split(&self, text: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let (mut done, mut from) = (0, 0);
        while let Some((start, pattern)) = self.find(text.as_bytes(), from) {
            let stop = start + pattern.content.len();
            from = stop;
            if pattern.single_word {
                return vec![Part::Unclear];
            }
            let left = text.get(done..start).unwrap_or_default();
            let left = if pattern.lstrip { left.trim_end() } else { left };
            if !left.is_empty() {
                parts.push(Part::Text(done..done + left.len()));
            }
            parts.push(Part::Token(pattern.id));
            let right = text.get(stop..).unwrap_or_default();
            done = if pattern.rstrip { text.len() - right.trim_start().len() } else { stop };
        }
        if done < text.len() {
            parts.push(Part::Text(done..text.len()));
        }
        parts
    }
}
