//! The set of byte ranges to redact.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::PiiKind;

/// Minimum number of letters of a name's part that is redacted everywhere: "von" and "de" stay.
const SHORTEST_PART: usize = 4;

/// Ranges that do not overlap, by start.
#[derive(Debug, Default)]
pub(super) struct Spans(BTreeMap<usize, (usize, PiiKind)>);

impl Spans {
    /// Adds a range. Overlapping ranges merge into one of the strictest kind: half a value would be a leak.
    pub(super) fn add(&mut self, range: Range<usize>, kind: PiiKind) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end, mut kind) = (range.start, range.end, kind);
        while let Some((first, (last, other))) = self.overlapping(&(start..end)) {
            self.0.remove(&first);
            (start, end, kind) = (start.min(first), end.max(last), kind.min(other));
        }
        self.0.insert(start, (end, kind));
    }

    /// Adds every other occurrence of the values found so far and of the `known` names.
    pub(super) fn repeat(&mut self, text: &str, known: &[&str]) {
        loop {
            let before = self.0.len();
            let values = self.values(text, known);
            for (number, range) in self.free_places(text, &values) {
                let kind = values.get(number).map_or(PiiKind::Literal, |(_, kind)| *kind);
                if self.overlapping(&range).is_none() && (kind != PiiKind::Name || self.whole(text, &range)) {
                    self.add(range, kind);
                }
            }
            if self.0.len() == before {
                return;
            }
        }
    }

    /// Returns the occurrences of `values` outside the ranges, by index of the value and then in the order of the
    /// text. All are searched at once, because a letter may be full of different values.
    fn free_places(&self, text: &str, values: &[(String, PiiKind)]) -> Vec<(usize, Range<usize>)> {
        let is_free = |range: &Range<usize>| self.overlapping(range).is_none();
        // A DFA takes quadratic time to build from a value that repeats itself.
        let kind = Some(AhoCorasickKind::NoncontiguousNFA);
        let search = AhoCorasick::builder().kind(kind).build(values.iter().map(|(value, _)| value));
        let mut places: Vec<(usize, Range<usize>)> = match search {
            Ok(search) => {
                let found = search.find_overlapping_iter(text);
                let found = found.filter(|found| is_free(&found.range()));
                found.map(|found| (found.pattern().as_usize(), found.range())).collect()
            }
            // Too many values for one automaton: search one by one, so that none stays.
            Err(_) => values
                .iter()
                .enumerate()
                .flat_map(|(number, (value, _))| {
                    text.match_indices(value).map(move |(at, _)| (number, at..at + value.len()))
                })
                .filter(|(_, range)| is_free(range))
                .collect(),
        };
        places.sort_by_key(|(number, range)| (*number, range.start));
        places
    }

    /// Returns the ranges in the order of the text.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Range<usize>, PiiKind)> {
        self.0.iter().map(|(start, (end, kind))| (*start..*end, *kind))
    }

    fn overlapping(&self, range: &Range<usize>) -> Option<(usize, (usize, PiiKind))> {
        let before = self.0.range(..range.end).next_back();
        before.filter(|(_, (end, _))| *end > range.start).map(|(start, place)| (*start, *place))
    }

    /// Returns the values found, the longest first; of names, including the `known` ones, also their parts, and each
    /// in capitals. Names come last: other values next to one make it a whole word.
    fn values(&self, text: &str, known: &[&str]) -> Vec<(String, PiiKind)> {
        let mut values = BTreeMap::new();
        let found = self.iter().filter_map(|(range, kind)| Some((text.get(range)?, kind)));
        for (value, kind) in found.chain(known.iter().map(|name| (*name, PiiKind::Name))) {
            values.entry(value.to_owned()).or_insert(kind);
            if kind == PiiKind::Name {
                let parts = value.split(|sign: char| sign.is_whitespace() || sign == ',').filter(|part| {
                    part.chars().count() >= SHORTEST_PART && part.starts_with(char::is_uppercase)
                });
                for part in parts.chain([value]) {
                    for spelling in [part.to_owned(), part.to_uppercase()] {
                        values.entry(spelling).or_insert(kind);
                    }
                }
            }
        }
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by_key(|(value, kind)| (*kind == PiiKind::Name, std::cmp::Reverse(value.len())));
        values
    }

    /// Returns whether `range` is not part of a longer unredacted word.
    fn whole(&self, text: &str, range: &Range<usize>) -> bool {
        let before = text.get(..range.start).and_then(|before| before.chars().next_back());
        let after = text.get(range.end..).and_then(|after| after.chars().next());
        let starts =
            range.start.checked_sub(1).is_some_and(|at| self.overlapping(&(at..range.start)).is_some());
        let ends = self.0.contains_key(&range.end);
        (starts || !before.is_some_and(char::is_alphanumeric))
            && (ends || !after.is_some_and(char::is_alphanumeric))
    }
}
