//! A trained linear model that turns rows of numbers into probabilities.

#[cfg(test)]
mod tests;

use crate::dataset::{Dataset, Example};

/// Weights of a linear classifier over `k` labels in `r` rows, and its temperature.
///
/// A row scores `dense x + sparse f + bias`, where `x` is the embedding as the embedding model gives it and `f` the
/// features as the component computes them: whatever training centred, scaled or weighted is folded into the
/// weights. A label scores the logarithm of the sum of `exp` over its rows, with one row that row's score; its
/// probability is the softmax of the labels' scores divided by the temperature.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// `[k]`
    pub labels: Vec<String>,
    /// `[r]`: index of each row's label, ascending. A label without a row is never predicted.
    pub rows: Vec<usize>,
    /// Numbers of an embedding, `d`; 0 without.
    pub dims: usize,
    /// `[r, d]`, row by row.
    pub dense: Vec<f32>,
    /// Columns of sparse features, `f`; 0 without.
    pub columns: usize,
    /// `[r, f]`, row by row.
    pub sparse: Vec<f32>,
    /// `[r]`
    pub bias: Vec<f32>,
    /// The divisor of labels' scores; above 0.
    pub temperature: f32,
}

impl Model {
    /// Returns `[k]` scores of an example, before the temperature.
    pub fn scores(&self, example: Example<'_>) -> Vec<f32> {
        let score = |(row, bias): (usize, &f32)| {
            let dense = self.dense.get(row * self.dims..(row + 1) * self.dims).unwrap_or_default();
            let sparse = self.sparse.get(row * self.columns..(row + 1) * self.columns).unwrap_or_default();
            let products = dense.iter().zip(example.dense).map(|(weight, value)| weight * value);
            let columns =
                example.sparse.iter().filter_map(|(at, value)| Some(sparse.get(at as usize)? * value));
            bias + products.sum::<f32>() + columns.sum::<f32>()
        };
        let scores: Vec<f32> = self.bias.iter().enumerate().map(score).collect();
        let mut rest = scores.as_slice();
        let mut join = |label: usize| {
            let rows = self.rows.iter().filter(|row| **row == label).count();
            let (of_label, others) = rest.split_at_checked(rows).unwrap_or((rest, &[]));
            rest = others;
            log_sum_exp(of_label)
        };
        (0..self.labels.len()).map(&mut join).collect()
    }

    /// Returns `[k]` calibrated probabilities of an example; they add up to 1.
    pub fn probabilities(&self, example: Example<'_>) -> Vec<f32> {
        softmax(&self.scores(example), self.temperature)
    }

    /// Returns the [`Model::probabilities`] of all examples.
    pub fn predict(&self, examples: &Dataset) -> Vec<Vec<f32>> {
        examples.examples().map(|example| self.probabilities(example)).collect()
    }
}

/// Returns probabilities in proportion to `exp(score / temperature)`.
pub(crate) fn softmax(scores: &[f32], temperature: f32) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let raised: Vec<f32> = scores.iter().map(|score| ((score - most) / temperature).exp()).collect();
    let total: f32 = raised.iter().sum();
    raised.into_iter().map(|value| value / total).collect()
}

/// Returns the index of the highest score; the first of equals.
pub(crate) fn argmax(scores: &[f32]) -> Option<usize> {
    let better = |best: Option<(usize, f32)>, (at, score): (usize, &f32)| match best {
        Some((_, highest)) if *score <= highest => best,
        _ => Some((at, *score)),
    };
    scores.iter().enumerate().fold(None, better).map(|(at, _)| at)
}

/// Returns the logarithm of the sum of `exp`; minus infinity without any scores.
pub(crate) fn log_sum_exp(scores: &[f32]) -> f32 {
    match scores {
        [] => f32::NEG_INFINITY,
        [only] => *only,
        scores => {
            let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            most + scores.iter().map(|score| (score - most).exp()).sum::<f32>().ln()
        }
    }
}
