//! The words of a passage that a sentence rests on.

use std::collections::BTreeSet;

use super::source::{Known, Source};
use crate::references::GAP;
use crate::terms::said;

/// Sentences that are quoted for one at most: two that were joined.
const QUOTED: usize = 2;

/// What `source` has that says `sentence`: the sentence itself where it stands there, else those that say most of it.
pub(super) fn quote(sentence: &str, source: &Source<'_>) -> String {
    if source.has(sentence) {
        return sentence.to_owned();
    }
    joined(source.stems.terms(sentence), source.sentences())
}

/// The candidates that say most of `terms`, in their order: the one that says the most, and of those that say something
/// of the rest the one that says the most of it.
fn joined(mut terms: BTreeSet<String>, candidates: &[Known]) -> String {
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < QUOTED {
        let worth = |of: &BTreeSet<String>| terms.iter().map(|term| said(term, of)).sum::<f32>();
        let worth = candidates.iter().enumerate().map(|(place, one)| (place, &one.terms, worth(&one.terms)));
        // The first of several that say as much.
        let best = worth.rev().max_by(|(_, _, one), (_, _, other)| one.total_cmp(other));
        let Some((place, of, _)) = best.filter(|(_, _, worth)| *worth > 0.0) else { break };
        chosen.push(place);
        terms.retain(|term| said(term, of) == 0.0);
    }
    chosen.sort_unstable();
    let texts = chosen.iter().filter_map(|place| candidates.get(*place)).map(|one| one.text.as_str());
    texts.collect::<Vec<_>>().join(GAP)
}
