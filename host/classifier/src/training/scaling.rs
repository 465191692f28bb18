//! Scaling of rows before solving, folded into the weights after it.

use bulkhead_triage_features::Row;

use super::solver::Weights;
use crate::dataset::{Dataset, Example};
use crate::model::Model;

/// The scaling of a data set. Embeddings are centred and scaled together: models such as e5 put all texts into one
/// narrow cone, so that their differences are small against their mean. Sparse columns are weighted by their inverse
/// document frequency, then scaled together.
pub(super) struct Scaling {
    mean: Vec<f64>,
    dense_factor: f64,
    /// Weight of each column, the common scale included.
    columns: Vec<f64>,
}

impl Scaling {
    /// Computes the scaling. `dense_scale` and `sparse_scale` are the root mean square lengths that embeddings and
    /// sparse features get.
    pub(super) fn of(examples: &Dataset, dense_scale: f64, sparse_scale: f64) -> Self {
        let mean = mean(examples);
        let spread = root_mean(examples, |example| {
            example.dense.iter().zip(&mean).map(|(value, mean)| (f64::from(*value) - mean).powi(2)).sum()
        });
        let mut columns = inverse_document_frequencies(examples);
        let length = root_mean(examples, |example| {
            let weighted = example
                .sparse
                .iter()
                .filter_map(|(at, value)| Some(columns.get(at as usize)? * f64::from(value)));
            weighted.map(|value| value * value).sum()
        });
        columns.iter_mut().for_each(|weight| *weight *= sparse_scale / length);
        Self { mean, dense_factor: dense_scale / spread, columns }
    }

    pub(super) fn apply(&self, example: Example<'_>) -> (Vec<f32>, Row) {
        let centred = example.dense.iter().zip(&self.mean);
        let dense =
            centred.map(|(value, mean)| ((f64::from(*value) - mean) * self.dense_factor) as f32).collect();
        let weight = |(at, value): (u32, f32)| {
            (self.columns.get(at as usize).unwrap_or(&0.0) * f64::from(value)) as f32
        };
        let values = example.sparse.iter().map(weight).collect();
        (dense, Row { indices: example.sparse.indices.clone(), values })
    }

    /// Returns a model that does to raw rows what `weights` do to scaled ones; temperature 1.
    pub(super) fn fold(&self, labels: Vec<String>, weights: &[Weights]) -> Model {
        let mut model = Model {
            rows: (0..labels.len()).collect(),
            labels,
            dims: self.mean.len(),
            dense: Vec::new(),
            columns: self.columns.len(),
            sparse: Vec::new(),
            bias: Vec::new(),
            temperature: 1.0,
        };
        for weights in weights {
            let dense = weights.dense.iter().map(|weight| weight * self.dense_factor);
            let shift: f64 = dense.clone().zip(&self.mean).map(|(weight, mean)| weight * mean).sum();
            model.dense.extend(dense.map(|weight| weight as f32));
            model.sparse.extend(
                weights.sparse.iter().zip(&self.columns).map(|(weight, column)| (weight * column) as f32),
            );
            model.bias.push((weights.bias - shift) as f32);
        }
        model
    }
}

pub(super) fn mean(examples: &Dataset) -> Vec<f64> {
    let mut mean = vec![0.0; examples.dims()];
    for example in examples.examples() {
        mean.iter_mut().zip(example.dense).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    mean.iter_mut().for_each(|sum| *sum /= examples.len().max(1) as f64);
    mean
}

/// Returns `ln((1 + n) / (1 + df)) + 1`, the smooth form that scikit-learn uses too; `[columns]`.
fn inverse_document_frequencies(examples: &Dataset) -> Vec<f64> {
    let mut frequencies = vec![0_u32; examples.columns()];
    for column in examples.examples().flat_map(|example| &example.sparse.indices) {
        if let Some(frequency) = frequencies.get_mut(*column as usize) {
            *frequency += 1;
        }
    }
    let count = 1.0 + examples.len() as f64;
    frequencies.into_iter().map(|frequency| (count / (1.0 + f64::from(frequency))).ln() + 1.0).collect()
}

/// Returns the root of the mean of `square` over the examples; 1 where that is 0.
fn root_mean(examples: &Dataset, square: impl Fn(Example<'_>) -> f64) -> f64 {
    let mean = examples.examples().map(square).sum::<f64>() / examples.len().max(1) as f64;
    if mean > 0.0 { mean.sqrt() } else { 1.0 }
}
