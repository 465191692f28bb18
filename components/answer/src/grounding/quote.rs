//! The words of a passage that a sentence rests on.

use std::collections::BTreeSet;

use super::source::{Known, Source};
use crate::references::GAP;
use crate::terms::said;

/// Sentences that are quoted for one at most: two that were joined.
const QUOTED: usize = 2;

/// Places of what `source` has that says `sentence`: the sentence itself where it stands there, else those that say
/// most of it.
pub(super) fn places(sentence: &str, source: &Source<'_>) -> Vec<usize> {
    match source.place(sentence) {
        Some(place) => vec![place],
        None => nearest(source.stems.terms(sentence), source.sentences()),
    }
}

/// The sentences at `places`, which are in order: a space stands between neighbours, a line's end at a heading or a list.
pub(super) fn quote(places: impl IntoIterator<Item = usize>, source: &Source<'_>) -> String {
    let mut quote = String::new();
    let mut last: Option<(usize, &Known)> = None;
    for place in places {
        let Some(known) = source.sentences().get(place) else { continue };
        quote.push_str(match last {
            None => "",
            Some((before, _)) if before + 1 != place => GAP,
            Some((_, before))
                if before.heading || before.text.contains('\n') || known.text.contains('\n') =>
            {
                "\n"
            }
            Some(_) => " ",
        });
        quote.push_str(&known.text);
        last = Some((place, known));
    }
    quote
}

/// The candidates that say most of `terms`, in their order: the one that says the most, and of those that say something
/// of the rest the one that says the most of it.
fn nearest(mut terms: BTreeSet<String>, candidates: &[Known]) -> Vec<usize> {
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
    chosen
}
