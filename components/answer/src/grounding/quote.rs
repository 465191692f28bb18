//! The words of a passage that a sentence rests on.

use std::collections::BTreeSet;

use bulkhead_ticket_text::language::Language;

use super::one_line;
use crate::references::GAP;
use crate::sentences::sentences;
use crate::terms::{Stems, said};

/// Sentences that are quoted for one at most: two that were joined.
const QUOTED: usize = 2;

/// What `passage` has that says `sentence`: itself where it stands there, else the sentences that say most of it.
pub(super) fn quote(sentence: &str, passage: &str, language: Language) -> String {
    if one_line(passage).contains(&one_line(sentence)) {
        return sentence.to_owned();
    }
    let stems = Stems::new(language);
    let mut open = stems.terms(sentence);
    let candidates: Vec<(BTreeSet<String>, String)> =
        sentences(passage).into_iter().map(|one| (stems.terms(&one.text), one.text)).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < QUOTED {
        let worth = |terms: &BTreeSet<String>| open.iter().map(|term| said(term, terms)).sum::<f32>();
        let worth = candidates.iter().enumerate().map(|(place, (terms, _))| (place, worth(terms)));
        // The first of several that say as much.
        let best = worth.rev().max_by(|(_, one), (_, other)| one.total_cmp(other));
        let Some((place, _)) = best.filter(|(_, worth)| *worth > 0.0) else { break };
        chosen.push(place);
        if let Some((terms, _)) = candidates.get(place) {
            open.retain(|term| said(term, terms) == 0.0);
        }
    }
    chosen.sort_unstable();
    let quoted = chosen.iter().filter_map(|place| candidates.get(*place)).map(|(_, text)| text.as_str());
    quoted.collect::<Vec<_>>().join(GAP)
}
