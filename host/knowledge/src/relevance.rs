//! How sure it is that a passage answers a question: a logistic function of a few features, fitted on questions
//! whose answers are known.

mod fit;
mod parameters;

use std::collections::{BTreeMap, BTreeSet};

use crate::index::Index;
use crate::words::Word;
pub(crate) use fit::fit;

/// Saturation and length normalisation of BM25, at the values that Robertson and Zaragoza recommend.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// What a compound with a word, or a part of it, counts of the word itself. Chosen on the development questions.
const RELATED: f32 = 0.5;
/// How many times as much a word in the title counts. (FTS5 and PostgreSQL propose by the same.)
const TITLE: f32 = 3.0;

/// What speaks for a passage.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Features {
    /// Cosine of question and passage as the model gives them; 0 where the question has no vector.
    pub cosine: f32,
    /// BM25 as a share of what a passage with nothing but the question's words would reach, 0..1.
    pub bm25: f32,
    /// Share of the question's words that the passage or its title holds, rare words counting more, 0..1.
    pub overlap: f32,
    /// The same for the title alone.
    pub title: f32,
}

impl Features {
    pub(crate) fn array(self) -> [f32; 4] {
        [self.cosine, self.bm25, self.overlap, self.title]
    }
}

/// A logistic function of features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parameters {
    /// Model that the cosine comes from; empty for questions without a vector.
    pub model: &'static str,
    pub bias: f32,
    /// In the order of [`Features::array`].
    pub weights: [f32; 4],
    /// The score below which "no answer" was right in 95 of 100 cases.
    pub floor: f32,
}

impl Parameters {
    /// Those of `model`. A model that no set was fitted for has cosines that mean something else: its passages are
    /// ordered by them, but rated by their words alone, as those of questions without a vector are.
    pub(crate) fn of(model: Option<&str>) -> &'static Self {
        let fitted = parameters::FITTED.iter().find(|set| Some(set.model) == model);
        fitted.unwrap_or(&parameters::WORDS)
    }

    /// Probability that a passage with these features answers the question.
    pub(crate) fn probability(&self, features: Features) -> f32 {
        let score: f32 =
            self.weights.iter().zip(features.array()).map(|(weight, value)| weight * value).sum();
        1.0 / (1.0 + (-(self.bias + score)).exp())
    }
}

/// A question's words, each with how telling it is.
#[derive(Debug)]
pub(crate) struct Evidence {
    weights: Vec<f32>,
    /// The words that a term stands for, and how well it does: 1, or [`RELATED`] for a compound or a part of one.
    terms: BTreeMap<String, Vec<(usize, f32)>>,
    mean_length: f32,
}

/// How often a passage holds a word.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    title: f32,
    text: f32,
    /// Compounds with the word, or parts of it, by their share.
    related_title: f32,
    related_text: f32,
}

impl Evidence {
    pub(crate) fn new(words: Vec<Word>, index: &Index) -> Self {
        let passages = index.len() as f32;
        let mut evidence =
            Self { weights: Vec::new(), terms: BTreeMap::new(), mean_length: index.mean_length() };
        for (position, word) in words.into_iter().enumerate() {
            let frequency = word.terms.iter().map(|term| index.frequency(term)).max().unwrap_or(0) as f32;
            evidence.weights.push((1.0 + (passages - frequency + 0.5) / (frequency + 0.5)).ln());
            let related: BTreeSet<String> = word.terms.iter().flat_map(|term| index.related(term)).collect();
            for term in related.into_iter().filter(|term| !word.terms.contains(term)) {
                evidence.terms.entry(term).or_default().push((position, RELATED));
            }
            for term in word.terms {
                evidence.terms.entry(term).or_default().push((position, 1.0));
            }
        }
        evidence
    }

    /// The terms that are in the base with their weights, the most telling first.
    pub(crate) fn terms(&self, index: &Index, limit: usize) -> Vec<(&str, f32)> {
        let weight =
            |(position, share): &(usize, f32)| self.weights.get(*position).map_or(0.0, |own| own * share);
        let known = self.terms.iter().filter(|(term, _)| index.frequency(term) > 0);
        let mut terms: Vec<_> = known
            .map(|(term, words)| (term.as_str(), words.iter().map(weight).fold(0.0, f32::max)))
            .collect();
        terms.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(right.0)));
        terms.truncate(limit);
        terms
    }

    /// Numbers of the `limit` best of the passages that a database proposes, best first: by BM25, so that every
    /// database has one order.
    pub(crate) fn rank(&self, proposed: Vec<(i64, String)>, limit: usize) -> Vec<i64> {
        let rated = proposed.into_iter().map(|(number, terms)| (self.bm25(&terms), number));
        let mut rated: Vec<_> = rated.collect();
        rated.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        rated.truncate(limit);
        rated.into_iter().map(|(_, number)| number).collect()
    }

    fn bm25(&self, terms: &str) -> f32 {
        let (tallies, norm) = self.tally(terms);
        let shares = self.weights.iter().zip(tallies).map(|(weight, tally)| {
            let found = TITLE * (tally.title + tally.related_title) + tally.text + tally.related_text;
            weight * found / (found + norm)
        });
        shares.sum()
    }

    /// What a passage's words say; `terms` are those of the title, a line end, and those of the text.
    pub(crate) fn features(&self, terms: &str, cosine: Option<f32>) -> Features {
        let (tallies, norm) = self.tally(terms);
        let mut features = Features { cosine: cosine.unwrap_or(0.0), ..Features::default() };
        for (weight, tally) in self.weights.iter().zip(tallies) {
            let own = tally.title + tally.text;
            let related = tally.related_title + tally.related_text;
            let (found, share) = if own > 0.0 { (own, 1.0) } else { (related / RELATED, RELATED) };
            features.bm25 += weight * share * found / (found + norm);
            features.overlap += weight * share * f32::from(found > 0.0);
            features.title += weight * f32::from(tally.title > 0.0);
        }
        let total: f32 = self.weights.iter().sum();
        if total > 0.0 {
            features.bm25 /= total;
            features.overlap /= total;
            features.title /= total;
        }
        features
    }

    /// How often each word is there, and the part of BM25's denominator that the passage's length makes.
    fn tally(&self, terms: &str) -> (Vec<Tally>, f32) {
        let (title, text) = terms.split_once('\n').unwrap_or(("", terms));
        let mut tallies = vec![Tally::default(); self.weights.len()];
        let mut length = 0.0;
        let titles = title.split_whitespace().map(|term| (term, true));
        for (term, in_title) in titles.chain(text.split_whitespace().map(|term| (term, false))) {
            length += 1.0;
            for (position, share) in self.terms.get(term).into_iter().flatten() {
                let Some(tally) = tallies.get_mut(*position) else { continue };
                match (in_title, *share < 1.0) {
                    (true, false) => tally.title += 1.0,
                    (false, false) => tally.text += 1.0,
                    (true, true) => tally.related_title += share,
                    (false, true) => tally.related_text += share,
                }
            }
        }
        (tallies, K1 * (1.0 - B + B * length / self.mean_length.max(1.0)))
    }
}
