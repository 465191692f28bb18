//! The context that limits a sentence of a passage: the heading above it, its exception, and other figures elsewhere.

use std::collections::BTreeSet;

use bulkhead_ticket_text::calendar::{is_month, weekdays};

use super::figures::{Figure, figures};
use super::is_negated;
use super::source::{Known, Source};
use crate::lists::context;
use crate::quotable::{is_list, is_question};
use crate::terms::{match_score, words};

/// Share of common words from which two sentences with different figures are about the same thing.
const SAME: f32 = 0.8;
/// Number of leading words in which a sentence says that it is an exception.
const FIRST: usize = 4;

/// Returns whether `text` is an exception to, or a restriction of, the text before it.
pub fn is_exception(text: &str) -> bool {
    let words: Vec<String> = words(text).collect();
    let first = words.get(..FIRST.min(words.len())).unwrap_or_default();
    let excepts = first.iter().any(|word| begins(word, context::EXCEPTING));
    let points = first.first().is_some_and(|word| has(context::POINTING, word));
    let holds = first.iter().any(|word| begins(word, context::HOLDING) || has(context::AUXILIARIES, word));
    let turned = is_negated(text) || words.iter().any(|word| has(context::RESTRICTING, word));
    excepts || points && holds && turned
}

fn has(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}

fn begins(word: &str, with: &[&str]) -> bool {
    with.iter().any(|begin| word.starts_with(begin))
}

/// Returns the headings that limit the sentences at `places` of `source` and that a statement with the terms `stated`
/// does not name.
pub(super) fn limits(places: &[usize], stated: &BTreeSet<String>, source: &Source<'_>) -> Vec<usize> {
    let known = places.iter().filter_map(|place| source.sentences().get(*place));
    let mut found: Vec<usize> = known.flat_map(|known| known.under.clone()).collect();
    found.retain(|place| {
        source.sentences().get(*place).is_some_and(|heading| is_limit(heading) && !is_named(heading, stated))
    });
    found.sort_unstable();
    found.dedup();
    found
}

fn is_limit(heading: &Known) -> bool {
    let words: Vec<String> = words(&heading.text).collect();
    // "Ab wann" asks for the limit.
    let asked = |at: usize| words.get(at + 1).is_some_and(|next| begins(next, context::ASKING));
    let limits = |(at, word): (usize, &String)| {
        let words = has(context::LIMITING, word) || is_month(word);
        (words || begins(word, context::LIMITING_STARTS) || weekdays().any(|day| word.starts_with(day)))
            && !asked(at)
    };
    let leads = !is_question(&heading.text) && words.first().is_some_and(|word| has(context::LEADING, word));
    leads || !heading.figures.is_empty() || is_negated(&heading.text) || words.iter().enumerate().any(limits)
}

fn is_named(heading: &Known, stated: &BTreeSet<String>) -> bool {
    heading.terms.iter().all(|term| match_score(term, stated) > 0.0)
}

/// A passage of the same page.
pub(super) struct Other<'a> {
    pub(super) source: &'a Source<'a>,
    /// Whether it belongs to a duplicate document of the same page: the same folder, imported from another path.
    pub(super) is_copy: bool,
}

/// Returns whether one of the `others`, passages of the same page, has the sentence at `place` of `source` with other
/// figures and under another heading, or in a copy.
pub(super) fn is_disputed(place: usize, source: &Source<'_>, others: &[Other<'_>]) -> bool {
    let Some(own) = source.sentences().get(place).filter(|own| !own.figures.is_empty()) else { return false };
    let texts = |headings: &[Known]| headings.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
    let over = texts(source.headings(place));
    // A copy that has the sentence itself does not contradict it.
    let mut others = others.iter().filter(|other| !other.is_copy || !other.source.has(&own.text));
    others.any(|other| {
        let sentences = other.source.sentences().iter().enumerate();
        let mut rivals = sentences.filter(|(_, one)| !one.figures.is_empty() && one.figures != own.figures);
        rivals.any(|(at, rival)| {
            is_of_the_same(own, rival) && (other.is_copy || texts(other.source.headings(at)) != over)
        })
    })
}

/// Returns whether two sentences have the same words apart from their figures.
fn is_of_the_same(own: &Known, other: &Known) -> bool {
    let is_word = |term: &&String| !term.contains(char::is_numeric);
    let common = own.terms.intersection(&other.terms).filter(is_word).count();
    let all = own.terms.union(&other.terms).filter(is_word).count();
    all > 0 && common as f32 / all as f32 >= SAME
}

/// Returns the neighbours that qualify the sentences at `places`: the exception after the last one, and prices for
/// other groups.
pub(super) fn besides(places: &[usize], source: &Source<'_>) -> Vec<String> {
    let sentences = source.sentences();
    let next = places.last().and_then(|last| sentences.get(last + 1));
    let exception = next.filter(|next| is_exception(&next.text));
    let near = places.iter().filter_map(|place| Some((sentences.get(*place)?, *place)));
    let variants = near.flat_map(|(own, place)| {
        let beside = [place.checked_sub(1), place.checked_add(1)].into_iter().flatten();
        let beside = beside.filter_map(|place| sentences.get(place));
        beside.filter(|other| own.under == other.under && is_variant(&own.text, &other.text))
    });
    exception.into_iter().chain(variants).map(|one| one.text.clone()).collect()
}

/// Returns whether `other` names a price for some where `own` names the general one.
pub(super) fn is_variant(own: &str, other: &str) -> bool {
    let first = words(other).next().unwrap_or_default();
    let amounts = |text: &str| figures(text).into_iter().filter(Figure::is_amount).collect::<BTreeSet<_>>();
    if !has(context::CONDITIONS, &first) && !begins(&first, context::REDUCED) {
        return false;
    }
    let (own, other) = (amounts(own), amounts(other));
    !own.is_empty() && !other.is_empty() && own != other
}

/// Returns the headings above lists among the sentences at `places`: a list means nothing without its heading.
pub(super) fn lists(places: &[usize], source: &Source<'_>) -> Vec<usize> {
    let known = places.iter().filter_map(|place| source.sentences().get(*place));
    known.filter(|known| is_list(&known.text)).filter_map(|known| known.under.clone().last()).collect()
}
