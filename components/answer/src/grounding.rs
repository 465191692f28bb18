//! Grounding: checks that a passage supports each sentence of an answer.
//!
//! A sentence that is in the passage word for word is grounded. A paraphrase must add nothing: two neighbouring
//! sentences of the passage must have all of its figures with their units, its addresses, most of its words, and the
//! negation where it has one. That is enough for a draft. A sentence that is published unread must also be
//! [`Grounded::close`]: what a sentence of the passage says, whole and in its words, so that no figure changes its
//! subject and no condition is lost. The check compares words, so it refuses some sentences that a reader would accept,
//! but fluent wording does not deceive it. The sentence must also not be in the passage under a limiting
//! heading, before an exception, or next to another figure for the same thing, unless the answer repeats these.

mod close;
mod context;
mod figures;
mod quote;
mod source;
#[cfg(test)]
mod tests;
mod units;

use std::collections::BTreeSet;

use bulkhead_text::language::Language;

use self::context::Other;
use self::figures::{Figure, figure, figures, is_free};
use self::source::Known;
use self::units::{is_currency, named};
use crate::lists::{
    figures::{ASSENT, PRICES},
    negation::WORDS as NEGATIONS,
};
use crate::passage::Passage;
use crate::quotable::{is_ended, is_question};
use crate::statement::{Grounded, Statement};
use crate::terms::{Stems, match_score, words};

pub use self::context::is_exception;
pub use self::figures::has_several_amounts;
pub use self::source::Source;

/// Share of a sentence's words that the passage must have: one of four may be the writer's own.
const LEAST_SAID: f32 = 0.75;
/// Number of neighbouring passage sentences that may support one sentence together.
const NEIGHBOURS: usize = 2;

/// Why a sentence is not grounded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ungrounded {
    /// The sentence has no words with a meaning.
    #[error("the sentence states nothing")]
    Empty,
    /// It has a figure or an address that the passage lacks.
    #[error("`{0}` is not in the passage, or not with its unit or next to the sentence's other words")]
    Figure(String),
    /// It has too many words that the passage lacks.
    #[error("the passage does not mention {}", .0.join(", "))]
    Words(Vec<String>),
    /// It negates what the passage affirms, or the reverse.
    #[error("the sentence and the passage contradict each other")]
    Negation,
}

/// Returns those of `statements` that one of the passages they name supports, each with the first such passage.
pub fn grounded(statements: &[Statement], passages: &[Passage], language: Language) -> Vec<Grounded> {
    ground(statements, passages, language, false)
}

/// Returns `statements`, each of which quotes the passage that it names, in their contexts. A quotation that is not
/// a sentence of its own has its heading, or the line that announces its list.
pub fn quoted(statements: &[Statement], passages: &[Passage], language: Language) -> Vec<Grounded> {
    let mut quoted = ground(statements, passages, language, true);
    let mut last: Option<(usize, String)> = None;
    for one in &mut quoted {
        let shown = one.heading.clone().map(|heading| (one.passage, heading));
        if !one.limited && shown.is_some() && shown == last {
            one.heading = None;
        }
        last = shown;
    }
    quoted
}

/// Returns those of `statements` that one of the passages they name supports, each with the first such passage; all if
/// they are `verbatim`.
fn ground(
    statements: &[Statement],
    passages: &[Passage],
    language: Language,
    verbatim: bool,
) -> Vec<Grounded> {
    let stems = Stems::new(language);
    let sources: Vec<Source<'_>> = passages.iter().map(|one| Source::new(&one.text, &stems)).collect();
    let ground = |statement: &Statement| {
        let text = &statement.text;
        let named = statement.passages.iter().filter_map(|index| Some((*index, sources.get(*index)?)));
        let (passage, source) =
            named.into_iter().find(|(_, source)| verbatim || check(text, source).is_ok())?;
        let own = passages.get(passage)?;
        let same = passages.iter().zip(&sources).filter(|(other, _)| own.is_of_page_of(other));
        let same = same.map(|(other, source)| Other { source, is_copy: other.document != own.document });
        let close = verbatim || is_close(text, source);
        let (one, besides) = in_context(text, passage, source, &same.collect::<Vec<_>>(), verbatim);
        Some((Grounded { close, ..one }, besides))
    };
    let (mut grounded, besides): (Vec<Grounded>, Vec<Vec<String>>) =
        statements.iter().filter_map(ground).unzip();
    let quoted: Vec<String> = grounded.iter().map(|one| one.quote.clone()).collect();
    for (one, besides) in grounded.iter_mut().zip(besides) {
        one.qualified |= besides.iter().any(|text| quoted.iter().all(|quote| !quote.contains(text)));
    }
    grounded
}

/// Returns `text`, which `source` supports, with the context that qualifies it there; `same` are the other passages
/// of its page. A `verbatim` text may be a part of a sentence or of a list.
fn in_context(
    text: &str,
    passage: usize,
    source: &Source<'_>,
    same: &[Other<'_>],
    verbatim: bool,
) -> (Grounded, Vec<String>) {
    let is_part = verbatim && !source.has(text);
    let places = quote::places(text, source);
    let limits = context::limits(&places, &source.stems.terms(text), source);
    let known = || places.iter().filter_map(|place| source.sentences().get(*place));
    let shown: BTreeSet<usize> = limits.iter().copied().chain(context::lists(&places, source)).collect();
    let headings = shown.iter().filter_map(|place| source.sentences().get(*place));
    let headings: Vec<&str> = headings.map(|one| one.text.trim_start_matches('#').trim()).collect();
    let heading = (!headings.is_empty()).then(|| headings.join(" – "));
    let places_shown = shown.iter().chain(&places).copied().collect::<BTreeSet<_>>();
    let grounded = Grounded {
        text: text.to_owned(),
        passage,
        heading: heading.or_else(|| announcement(text, &places, source).filter(|_| is_part)),
        limited: !limits.is_empty(),
        qualified: !places.is_empty() && places.iter().all(|place| source.is_over(*place))
            || places.iter().any(|place| context::is_disputed(*place, source, same)),
        bare: is_question(text) || !is_part && known().all(|one| one.bare),
        quote: if is_part { text.to_owned() } else { quote::quote(places_shown, source) },
        close: false,
    };
    (grounded, context::besides(&places, source))
}

/// Returns what announces `text`, a part of the sentences at `places` that is not a sentence: the line above its list, else
/// its heading.
fn announcement(text: &str, places: &[usize], source: &Source<'_>) -> Option<String> {
    let place = places.first().filter(|_| !is_ended(text))?;
    let line = source.sentences().get(*place)?.text.lines().next();
    let line = line.filter(|line| line.ends_with(':') && !line.contains(text));
    let heading = source.headings(*place).last().map(|one| one.text.trim_start_matches('#').trim());
    line.or(heading).map(str::to_owned)
}

/// Returns whether `sentence` is self-contained and says what a sentence of `source` says, in its words.
fn is_close(sentence: &str, source: &Source<'_>) -> bool {
    !close::starts_with_anaphor(sentence) && (source.has(sentence) || source.says(sentence))
}

/// Checks that `source` supports `sentence`, both in the language of its stems.
///
/// # Errors
///
/// Fails with what the passage lacks.
pub fn check(sentence: &str, source: &Source<'_>) -> Result<(), Ungrounded> {
    let Some(first) = words(sentence).next() else { return Err(Ungrounded::Empty) };
    if source.has(sentence) {
        return Ok(());
    }
    let sentences = source.sentences();
    if ASSENT.contains(&first.as_str())
        && sentences.iter().flat_map(|one| words(&one.text)).all(|one| one != first)
    {
        return Err(Ungrounded::Words(vec![first]));
    }
    let stated = figures(sentence);
    let is_figure = |term: &String| term.chars().any(char::is_numeric);
    let mut claimed = source.stems.terms(sentence);
    claimed.retain(|term| !is_figure(term) && !NEGATIONS.contains(&term.as_str()));
    if stated.iter().any(Figure::is_amount) {
        // The amount itself says that there is a price; number words and currencies are compared as figures.
        let implied = |word: &String| {
            PRICES.contains(&word.as_str()) || figure(word).is_some() || named(word).is_some_and(is_currency)
        };
        for word in words(sentence).filter(implied) {
            claimed.remove(&source.stems.stem(&word));
        }
    }
    if claimed.is_empty() && stated.is_empty() {
        return Err(Ungrounded::Empty);
    }
    if let Some(new) = stated.iter().find(|figure| sentences.iter().all(|one| !one.has_figure(figure))) {
        return Err(Ungrounded::Figure(new.text.clone()));
    }
    together(&claimed, &stated, sentences)?;
    if let Some(other) = contradicted(&claimed, &stated, sentences) {
        return Err(Ungrounded::Figure(other.text.clone()));
    }
    // Of sentences with the same words, the one with the figures says it: "Ein Reisepass kostet nicht 70 Euro".
    let nearness = |known: &Known| {
        let said = stated.iter().filter(|figure| known.has_figure(figure)).count();
        (said, share(&claimed, std::slice::from_ref(known)))
    };
    let nearest = sentences.iter().max_by(|one, other| {
        let ((one, share), (other, least)) = (nearness(one), nearness(other));
        one.cmp(&other).then(share.total_cmp(&least))
    });
    match nearest.is_some_and(|nearest| is_negated(&nearest.text) != is_negated(sentence)) {
        true => Err(Ungrounded::Negation),
        false => Ok(()),
    }
}

/// Checks that neighbouring sentences have all the `stated` figures and most of the `claimed` words.
fn together(
    claimed: &BTreeSet<String>,
    stated: &BTreeSet<Figure>,
    sentences: &[Known],
) -> Result<(), Ungrounded> {
    let near = sentences.windows(NEIGHBOURS.min(sentences.len()).max(1));
    let near: Vec<(f32, &[Known])> = near.map(|near| (share(claimed, near), near)).collect();
    let lacks = |near: &[Known], figure: &Figure| near.iter().all(|known| !known.has_figure(figure));
    let supports = |(share, near): &(f32, &[Known])| {
        *share >= LEAST_SAID && !stated.iter().any(|figure| lacks(near, figure))
    };
    if near.iter().any(supports) {
        return Ok(());
    }
    let best = near.iter().max_by(|(one, _), (other, _)| one.total_cmp(other));
    let (most, best) = best.copied().unwrap_or_default();
    match stated.iter().find(|figure| lacks(best, figure)).filter(|_| most >= LEAST_SAID) {
        Some(elsewhere) => Err(Ungrounded::Figure(elsewhere.text.clone())),
        None => {
            let missing =
                claimed.iter().filter(|term| best.iter().all(|known| match_score(term, &known.terms) == 0.0));
            Err(Ungrounded::Words(missing.cloned().collect()))
        }
    }
}

/// Returns a `stated` amount that the sentences with most of the `claimed` words lack although one of them names an amount:
/// the price of something else.
fn contradicted<'f>(
    claimed: &BTreeSet<String>,
    stated: &'f BTreeSet<Figure>,
    sentences: &[Known],
) -> Option<&'f Figure> {
    let shares: Vec<f32> =
        sentences.iter().map(|known| share(claimed, std::slice::from_ref(known))).collect();
    let most = shares.iter().copied().fold(0.0, f32::max);
    let nearest =
        || sentences.iter().zip(&shares).filter(|(_, share)| **share >= most).map(|(known, _)| known);
    let names_amount = |known: &Known| known.figures.iter().any(Figure::is_amount) || is_free(&known.text);
    if most < LEAST_SAID || !nearest().any(names_amount) {
        return None;
    }
    let mut amounts = stated.iter().filter(|figure| figure.is_amount());
    amounts.find(|figure| nearest().all(|known| !known.has_figure(figure)))
}

/// Returns the share of the `claimed` words that `near` has; 1 if there are none.
fn share(claimed: &BTreeSet<String>, near: &[Known]) -> f32 {
    let worth = |term: &String| near.iter().map(|known| match_score(term, &known.terms)).fold(0.0, f32::max);
    let covered: f32 = claimed.iter().map(worth).sum();
    if claimed.is_empty() { 1.0 } else { covered / claimed.len() as f32 }
}

/// Returns whether `text` has a negation.
pub fn is_negated(text: &str) -> bool {
    words(text).any(|word| NEGATIONS.contains(&word.as_str()))
}

/// Returns `text` with single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
