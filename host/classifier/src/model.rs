//! A trained model: from rows of numbers to probabilities.

#[cfg(test)]
mod tests;

use crate::dataset::{Dataset, Example};

/// Weights of a linear classifier over `k` labels, and its temperature.
///
/// `probabilities = softmax((dense x + sparse f + bias) / temperature)`, where `x` is the embedding as the
/// embedding model gives it and `f` the features as the component computes them: whatever training centred,
/// scaled or weighted is folded into the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// `[k]`, in the order of the weights.
    pub labels: Vec<String>,
    /// Numbers of an embedding, `d`; 0 without.
    pub dims: usize,
    /// `[k, d]`, row by row.
    pub dense: Vec<f32>,
    /// Columns of sparse features, `f`; 0 without.
    pub columns: usize,
    /// `[k, f]`, row by row.
    pub sparse: Vec<f32>,
    /// `[k]`
    pub bias: Vec<f32>,
    /// What scores are divided by; above 0.
    pub temperature: f32,
}

impl Model {
    /// `[k]` scores of an example, before the temperature.
    pub fn scores(&self, example: Example<'_>) -> Vec<f32> {
        let score = |(label, bias): (usize, &f32)| {
            let dense = self.dense.get(label * self.dims..(label + 1) * self.dims).unwrap_or_default();
            let sparse =
                self.sparse.get(label * self.columns..(label + 1) * self.columns).unwrap_or_default();
            let products = dense.iter().zip(example.dense).map(|(weight, value)| weight * value);
            let columns =
                example.sparse.iter().filter_map(|(at, value)| Some(sparse.get(at as usize)? * value));
            bias + products.sum::<f32>() + columns.sum::<f32>()
        };
        self.bias.iter().enumerate().map(score).collect()
    }

    /// `[k]` calibrated probabilities of an example; they add up to 1.
    pub fn probabilities(&self, example: Example<'_>) -> Vec<f32> {
        softmax(&self.scores(example), self.temperature)
    }

    /// [`Model::probabilities`] of all examples.
    pub fn predict(&self, examples: &Dataset) -> Vec<Vec<f32>> {
        examples.examples().map(|example| self.probabilities(example)).collect()
    }
}

/// Probabilities in proportion to `exp(score / temperature)`.
pub(crate) fn softmax(scores: &[f32], temperature: f32) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let raised: Vec<f32> = scores.iter().map(|score| ((score - most) / temperature).exp()).collect();
    let total: f32 = raised.iter().sum();
    raised.into_iter().map(|value| value / total).collect()
}
