//! The words of a passage that a sentence rests on.

use std::collections::BTreeSet;

use bulkhead_ticket_text::language::Language;

use super::{figures, one_line};
use crate::references::GAP;
use crate::sentences::sentences;
use crate::terms::{Stems, said};

/// Sentences that are quoted for one at most: two that were joined.
const QUOTED: usize = 2;

/// What a passage has that says a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quote {
    /// The sentence itself where it stands there, else the sentences that say most of it.
    pub(super) text: String,
    /// Whether the sentence's figures stand where its other words do: a fee may be that of something else.
    pub(super) has_figures: bool,
}

/// What `passage` has that says `sentence`.
pub(super) fn quote(sentence: &str, passage: &str, language: Language) -> Quote {
    if one_line(passage).contains(&one_line(sentence)) {
        return Quote { text: sentence.to_owned(), has_figures: true };
    }
    let stems = Stems::new(language);
    let terms = stems.terms(sentence);
    let candidates: Vec<(BTreeSet<String>, String)> =
        sentences(passage).into_iter().map(|one| (stems.terms(&one.text), one.text)).collect();
    let words = terms.iter().filter(|term| !term.chars().any(char::is_numeric)).cloned().collect();
    let known = figures::figures(&joined(words, &candidates));
    Quote { has_figures: figures::figures(sentence).is_subset(&known), text: joined(terms, &candidates) }
}

/// The candidates that say most of `terms`, in their order: the one that says the most, and of those that say something
/// of the rest the one that says the most of it.
fn joined(mut terms: BTreeSet<String>, candidates: &[(BTreeSet<String>, String)]) -> String {
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < QUOTED {
        let worth = |of: &BTreeSet<String>| terms.iter().map(|term| said(term, of)).sum::<f32>();
        let worth = candidates.iter().enumerate().map(|(place, (of, _))| (place, of, worth(of)));
        // The first of several that say as much.
        let best = worth.rev().max_by(|(_, _, one), (_, _, other)| one.total_cmp(other));
        let Some((place, of, _)) = best.filter(|(_, _, worth)| *worth > 0.0) else { break };
        chosen.push(place);
        terms.retain(|term| said(term, of) == 0.0);
    }
    chosen.sort_unstable();
    let texts = chosen.iter().filter_map(|place| candidates.get(*place)).map(|(_, text)| text.as_str());
    texts.collect::<Vec<_>>().join(GAP)
}
