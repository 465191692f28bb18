//! The probability that a passage answers a question: a logistic function of a few features, fitted on questions
//! whose answers are known.

mod fit;
mod parameters;

use std::collections::{BTreeSet, HashMap};

use crate::index::Index;
use crate::text::words::Word;
pub(crate) use fit::fit;

/// Saturation and length normalisation of BM25, at the values that Robertson and Zaragoza recommend.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// The weight of a compound with a word, or of a part of it, against the word itself. Chosen on the development
/// questions.
const RELATED: f32 = 0.5;
/// How many times as much a word in the title counts. (FTS5 and PostgreSQL propose by the same.)
const TITLE: f32 = 3.0;

/// Features of a passage. They are independent of the question's length and nearly of the size of the base.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Features {
    /// Cosine of question and passage as the model gives them; 0 where the question has no vector.
    pub cosine: f32,
    /// How prominent the passage is in the base: 1 is as far as the farthest of as many passages by chance; 0 where
    /// the question has no vector.
    pub prominence: f32,
    /// The weight of the words that question and passage share, as the logarithm of one more than BM25 in units of
    /// the rarest word.
    pub words: f32,
    /// MaxSim score of the words' vectors of question and passage; 0 without vectors.
    pub max_sim: f32,
}

/// Number of features.
pub(crate) const FEATURES: usize = 4;

impl Features {
    pub(crate) fn array(self) -> [f32; FEATURES] {
        [self.cosine, self.prominence, self.words, self.max_sim]
    }
}

/// A logistic function of features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parameters {
    /// Models that the cosine comes from; none for questions without a vector.
    pub models: &'static [&'static str],
    pub bias: f32,
    /// In the order of [`Features::array`].
    pub weights: [f32; FEATURES],
    /// The test for questions that nothing in the base is near to.
    pub nearness: Nearness,
    /// The same for questions whose items are compared, too.
    pub items: ItemNearness,
}

/// A sum of the best item's cosine and the best passage's relevance, and what it must reach for any of them to be an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ItemNearness {
    /// Weight of the relevance, as the logarithm of its odds.
    pub relevance: f32,
    pub least: f32,
}

impl ItemNearness {
    /// Returns whether nothing is near to a question whose best item has this cosine and whose best passage has this
    /// relevance.
    pub(crate) fn is_far(&self, item: f32, relevance: f32) -> bool {
        let odds = (relevance / (1.0 - relevance)).ln();
        item + self.relevance * odds < self.least
    }
}

/// A sum over the nearest passages of a question, and what it must reach for any of them to be an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Nearness {
    /// Weights of the highest cosine and of the highest MaxSim score.
    pub weights: [f32; 2],
    pub least: f32,
}

impl Nearness {
    /// Returns the sum for a question whose passages have these features.
    pub(crate) fn of(&self, passages: impl Iterator<Item = Features>) -> f32 {
        let [cosine, max_sim] = nearest(passages);
        let [of_cosine, of_max_sim] = self.weights;
        of_cosine * cosine + of_max_sim * max_sim
    }
}

/// Returns the highest cosine and the highest MaxSim score, each 0 at least.
pub(crate) fn nearest(passages: impl Iterator<Item = Features>) -> [f32; 2] {
    passages.fold([0.0; 2], |[cosine, max_sim], features| {
        [cosine.max(features.cosine), max_sim.max(features.max_sim)]
    })
}

impl Parameters {
    /// Returns the parameters of `model`. A model without a fitted set has cosines that mean something else: its
    /// passages are ordered by them, but scored by their words alone, as those of questions without a vector are.
    pub(crate) fn of(model: Option<&str>) -> &'static Self {
        let fitted =
            parameters::FITTED.iter().find(|set| model.is_some_and(|model| set.models.contains(&model)));
        fitted.unwrap_or(&parameters::WORDS)
    }

    /// Returns the probability that a passage with these features answers the question.
    pub(crate) fn probability(&self, features: Features) -> f32 {
        let score: f32 =
            self.weights.iter().zip(features.array()).map(|(weight, value)| weight * value).sum();
        1.0 / (1.0 + (-(self.bias + score)).exp())
    }
}

/// A question's words, each with its weight.
#[derive(Debug)]
pub(crate) struct Evidence {
    weights: Vec<f32>,
    /// The words of the question that a term matches, with the weight: 1, or [`RELATED`] for a compound or a part of
    /// one.
    terms: HashMap<String, Vec<(usize, f32)>>,
    mean_length: f32,
    /// Weight of a word that one passage has.
    rarest: f32,
}

impl Evidence {
    pub(crate) fn new(words: Vec<Word>, index: &Index) -> Self {
        let passages = index.len() as f32;
        let weight = |frequency: f32| (1.0 + (passages - frequency + 0.5) / (frequency + 0.5)).ln();
        let (mean_length, rarest) = (index.mean_length(), weight(1.0));
        let mut evidence = Self { weights: Vec::new(), terms: HashMap::new(), mean_length, rarest };
        for (position, word) in words.into_iter().enumerate() {
            let frequency = word.terms.iter().map(|term| index.frequency(term)).max().unwrap_or(0) as f32;
            evidence.weights.push(weight(frequency));
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

    /// Returns the terms that are in the base with their weights, the rarest first: at most `limit`, and after the
    /// first only as many as are in `matches` passages in all.
    pub(crate) fn terms(&self, index: &Index, limit: usize, matches: u32) -> Vec<(&str, f32)> {
        let weight =
            |(position, share): &(usize, f32)| self.weights.get(*position).map_or(0.0, |own| own * share);
        let known = self.terms.iter().filter(|(term, _)| index.frequency(term) > 0);
        let mut terms: Vec<_> = known
            .map(|(term, words)| (term.as_str(), words.iter().map(weight).fold(0.0, f32::max)))
            .collect();
        terms.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(right.0)));
        let mut matched: u32 = 0;
        let within = terms.iter().take(limit).take_while(|(term, _)| {
            let first = matched == 0;
            matched = matched.saturating_add(index.frequency(term));
            first || matched <= matches
        });
        let within = within.count();
        terms.truncate(within);
        terms
    }

    /// Ranks the passages that a database proposes and returns the numbers of the `limit` best, best first: by BM25,
    /// so that every database has one order.
    pub(crate) fn rank(&self, proposed: Vec<(i64, String)>, limit: usize) -> Vec<i64> {
        let scored = proposed.into_iter().map(|(number, terms)| (self.bm25(&terms), number));
        let mut scored: Vec<_> = scored.collect();
        scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        scored.truncate(limit);
        scored.into_iter().map(|(_, number)| number).collect()
    }

    /// Returns how much the shared words of question and passage weigh: see [`Features::words`].
    pub(crate) fn words(&self, terms: &str) -> f32 {
        (self.bm25(terms) / self.rarest).ln_1p()
    }

    /// Returns the BM25 of a passage. `terms` are those of the title, a line end, and those of the text.
    pub(crate) fn bm25(&self, terms: &str) -> f32 {
        let (title, text) = terms.split_once('\n').unwrap_or(("", terms));
        let mut found = vec![0.0; self.weights.len()];
        let mut length = 0.0;
        let titles = title.split_whitespace().map(|term| (term, TITLE));
        for (term, counts) in titles.chain(text.split_whitespace().map(|term| (term, 1.0))) {
            length += 1.0;
            for (position, share) in self.terms.get(term).into_iter().flatten() {
                if let Some(found) = found.get_mut(*position) {
                    *found += counts * share;
                }
            }
        }
        let norm = K1 * (1.0 - B + B * length / self.mean_length.max(1.0));
        self.weights.iter().zip(found).map(|(weight, found)| weight * found / (found + norm)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_questions_lack_nearness_and_relevance() {
        let nearness = Parameters::of(Some("intfloat/multilingual-e5-small")).items;
        assert!(nearness.is_far(0.80, 0.03) && nearness.is_far(0.9, 0.0));
        assert!(!nearness.is_far(0.85, 0.03) && !nearness.is_far(0.80, 0.7) && !nearness.is_far(0.7, 1.0));
        let unknown = Parameters::of(Some("toy")).items;
        assert!(!unknown.is_far(-1.0, 0.0) && !unknown.is_far(-1.0, 0.03));
    }
}
