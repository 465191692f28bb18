//! The terms of a base, and which of them are parts of compounds of others.

use std::collections::{BTreeMap, BTreeSet};

/// Shortest part of a compound, in bytes; shorter ones are endings and prepositions.
const SHORTEST: usize = 5;
/// Most compounds that are followed in each direction.
const MOST: usize = 24;

#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// In how many passages each term is.
    counts: BTreeMap<String, u32>,
    /// The terms read backwards, so that those with one ending are adjacent.
    backwards: BTreeSet<String>,
}

impl Vocabulary {
    /// Counts a passage that holds `term`.
    pub(super) fn count(&mut self, term: &str) {
        if let Some(count) = self.counts.get_mut(term) {
            *count += 1;
        } else {
            self.counts.insert(term.to_owned(), 1);
            self.backwards.insert(reversed(term));
        }
    }

    pub(super) fn frequency(&self, term: &str) -> u32 {
        self.counts.get(term).copied().unwrap_or(0)
    }

    /// Returns other terms that begin or end with `term`, or that it begins or ends with: `parkausweis` for
    /// `bewohnerparkausweis`, and the other way round.
    pub(super) fn related(&self, term: &str) -> Vec<String> {
        if term.len() < SHORTEST {
            return Vec::new();
        }
        let longer = self.counts.range(term.to_owned()..).map(|(other, _)| other.clone());
        let longer = longer.take_while(|other| other.starts_with(term)).take(MOST);
        let backwards = reversed(term);
        let ending = self.backwards.range(backwards.clone()..);
        let ending =
            ending.take_while(|other| other.starts_with(&backwards)).take(MOST).map(|other| reversed(other));
        let cuts = (SHORTEST..term.len()).filter(|cut| term.is_char_boundary(*cut));
        let heads = cuts.filter_map(|cut| term.get(..cut));
        let tails = (1..=term.len() - SHORTEST).filter_map(|cut| term.get(cut..));
        let parts = heads.chain(tails).filter(|part| self.counts.contains_key(*part)).map(str::to_owned);
        let related: BTreeSet<String> =
            longer.chain(ending).chain(parts).filter(|other| other != term).collect();
        related.into_iter().collect()
    }
}

fn reversed(term: &str) -> String {
    term.chars().rev().collect()
}
