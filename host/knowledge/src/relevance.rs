//! How sure it is that a passage answers a question: a logistic function of a few features, fitted on questions
//! whose answers are known.

mod parameters;

use crate::index::Index;
use crate::words::Word;

/// Saturation and length normalisation of BM25, at the values that Robertson and Zaragoza recommend.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// What speaks for a passage.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Features {
    /// Cosine of question and passage; 0 where the question has no vector.
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
    words: Vec<(Word, f32)>,
    mean_length: f32,
}

impl Evidence {
    pub(crate) fn new(words: Vec<Word>, index: &Index) -> Self {
        let passages = index.len() as f32;
        let weighed = words.into_iter().map(|word| {
            let frequency = word.terms.iter().map(|term| index.frequency(term)).max().unwrap_or(0) as f32;
            let weight = (1.0 + (passages - frequency + 0.5) / (frequency + 0.5)).ln();
            (word, weight)
        });
        Self { words: weighed.collect(), mean_length: index.mean_length() }
    }

    /// The terms that are in the base with their words' weights, the rarest words first.
    pub(crate) fn terms(&self, index: &Index, limit: usize) -> Vec<(&str, f32)> {
        let mut words: Vec<_> = self.words.iter().collect();
        words.sort_by(|left, right| right.1.total_cmp(&left.1));
        let terms =
            words.iter().flat_map(|(word, weight)| word.terms.iter().map(|term| (term.as_str(), *weight)));
        terms.filter(|(term, _)| index.frequency(term) > 0).take(limit).collect()
    }

    /// What a passage's words say; `terms` are those of the title, a line end, and those of the text.
    pub(crate) fn features(&self, terms: &str, cosine: Option<f32>) -> Features {
        let (title, text) = terms.split_once('\n').unwrap_or(("", terms));
        let length = terms.split_whitespace().count() as f32;
        let norm = K1 * (1.0 - B + B * length / self.mean_length.max(1.0));
        let mut features = Features { cosine: cosine.unwrap_or(0.0), ..Features::default() };
        let mut total = 0.0;
        for (word, weight) in &self.words {
            let count = |terms: &str| {
                terms.split_whitespace().filter(|term| word.terms.iter().any(|own| own == term)).count()
                    as f32
            };
            let in_title = count(title);
            let found = in_title + count(text);
            total += weight;
            features.bm25 += weight * found / (found + norm);
            features.overlap += weight * f32::from(found > 0.0);
            features.title += weight * f32::from(in_title > 0.0);
        }
        if total > 0.0 {
            features.bm25 /= total;
            features.overlap /= total;
            features.title /= total;
        }
        features
    }
}
