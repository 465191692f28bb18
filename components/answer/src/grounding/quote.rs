//! The sentences of a passage to quote as evidence for a statement.

use std::collections::BTreeSet;

use super::source::{Known, Source};
use crate::references::GAP;
use crate::terms::match_score;

/// Maximum number of sentences quoted for one statement: two that were joined.
const QUOTED: usize = 2;

/// Returns the places in `source` that support `sentence`: the sentence itself if the passage has it, else the
/// closest ones.
pub(super) fn places(sentence: &str, source: &Source<'_>) -> Vec<usize> {
    match source.place(sentence) {
        Some(place) => vec![place],
        None => nearest(source.stems.terms(sentence), source.sentences()),
    }
}

/// Joins the sentences at `places`, which are sorted: by a space between neighbours, by a line end at a heading or a
/// list.
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

/// Returns the candidates that cover most of `terms`, in their order: the best one, then the best one for the rest.
fn nearest(mut terms: BTreeSet<String>, candidates: &[Known]) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < QUOTED {
        let worth = |of: &BTreeSet<String>| terms.iter().map(|term| match_score(term, of)).sum::<f32>();
        let worth = candidates.iter().enumerate().map(|(place, one)| (place, &one.terms, worth(&one.terms)));
        // The first of several equal ones.
        let best = worth.rev().max_by(|(_, _, one), (_, _, other)| one.total_cmp(other));
        let Some((place, of, _)) = best.filter(|(_, _, worth)| *worth > 0.0) else { break };
        chosen.push(place);
        terms.retain(|term| match_score(term, of) == 0.0);
    }
    chosen.sort_unstable();
    chosen
}
