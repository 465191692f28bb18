//! Classification by similarity to every example, which is a row of its own.
//!
//! Similarity is measured by what separates labels: directions in which the examples of one label differ among
//! themselves weigh less (the within-class covariance, shrunk towards a sphere because few examples estimate it
//! badly). A kernel density of each label over that similarity is joined from its rows. One label may so hold several
//! kinds of texts, which a single row cannot.

use serde::{Deserialize, Serialize};

use super::scaling;
use crate::dataset::Dataset;
use crate::model::Model;
use cholesky::Cholesky;

mod cholesky;

/// Settings of prototypes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prototypes {
    /// Share of the sphere in the within-class covariance, above 0 to 1.
    pub shrinkage: f64,
    /// The factor of similarity: with large values the nearest example decides, with small ones all do.
    pub sharpness: f64,
}

impl Default for Prototypes {
    /// Returns values chosen on a development set of German and English tickets; accuracy is flat around them.
    fn default() -> Self {
        Self { shrinkage: 0.65, sharpness: 10.0 }
    }
}

/// What similarity is measured by: the mean and the within-class covariance of the examples.
pub(super) struct Similarity {
    mean: Vec<f64>,
    cholesky: Cholesky,
    /// Usual length of an example from the mean.
    usual: f64,
}

impl Similarity {
    /// Measures the examples; `shrinkage` is the share of the sphere in their covariance.
    pub(super) fn of(examples: &Dataset, shrinkage: f64) -> Self {
        let mean = scaling::mean(examples);
        let centred: Vec<Vec<f64>> =
            examples.examples().map(|example| centre(example.dense, &mean)).collect();
        let cholesky = Cholesky::of(shrunk(scatter(&centred, examples), shrinkage), mean.len());
        let lengths: f64 = centred.iter().map(|row| length(row, &cholesky.solve(row))).sum();
        Self { mean, cholesky, usual: lengths / centred.len().max(1) as f64 }
    }

    /// Returns the weights and the bias by which a text scores its similarity to `dense`, times `sharpness`.
    pub(super) fn row(&self, dense: &[f32], sharpness: f64) -> (Vec<f32>, f64) {
        let centred = centre(dense, &self.mean);
        let solved = self.cholesky.solve(&centred);
        let scale = length(&centred, &solved) * self.usual;
        let weights: Vec<f64> = solved.iter().map(|value| sharpness * value / scale).collect();
        (weights.iter().map(|weight| *weight as f32).collect(), -dot(&weights, &self.mean))
    }
}

/// Fits a model without a temperature; `similarity` is that of the same examples.
pub(super) fn fit(examples: &Dataset, similarity: &Similarity, sharpness: f64) -> Model {
    let mut model = Model {
        labels: examples.labels().to_vec(),
        rows: Vec::new(),
        dims: examples.dims(),
        dense: Vec::new(),
        columns: 0,
        sparse: Vec::new(),
        bias: Vec::new(),
        temperature: 1.0,
    };
    for (label, support) in examples.support().into_iter().enumerate() {
        let of_label = examples.examples().zip(examples.targets()).filter(|(_, target)| **target == label);
        for (example, _) in of_label {
            let (weights, bias) = similarity.row(example.dense, sharpness);
            // Every label weighs the same, however many examples it has.
            model.bias.push((bias - (support as f64).ln()) as f32);
            model.dense.extend(weights);
            model.rows.push(label);
        }
    }
    model
}

fn centre(dense: &[f32], mean: &[f64]) -> Vec<f64> {
    dense.iter().zip(mean).map(|(value, mean)| f64::from(*value) - mean).collect()
}

/// Returns the length of a centred row; `solved` is that row divided by the covariance.
fn length(centred: &[f64], solved: &[f64]) -> f64 {
    dot(centred, solved).max(f64::MIN_POSITIVE).sqrt()
}

/// Returns `[d, d]` mean of the squared differences from the mean of the own label.
fn scatter(centred: &[Vec<f64>], examples: &Dataset) -> Vec<f64> {
    let dims = examples.dims();
    let mut means = vec![vec![0.0; dims]; examples.labels().len()];
    let support = examples.support();
    for (row, target) in centred.iter().zip(examples.targets()) {
        let (Some(mean), Some(count)) = (means.get_mut(*target), support.get(*target)) else { continue };
        mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / *count as f64);
    }
    let mut scatter = vec![0.0; dims * dims];
    for (row, target) in centred.iter().zip(examples.targets()) {
        let Some(mean) = means.get(*target) else { continue };
        let difference: Vec<f64> = row.iter().zip(mean).map(|(value, mean)| value - mean).collect();
        for (sums, one) in scatter.chunks_exact_mut(dims.max(1)).zip(&difference) {
            let scaled = one / centred.len() as f64;
            sums.iter_mut().zip(&difference).for_each(|(sum, other)| *sum += scaled * other);
        }
    }
    scatter
}

/// Moves a covariance towards the sphere of the same mean variance.
fn shrunk(mut covariance: Vec<f64>, shrinkage: f64) -> Vec<f64> {
    let dims = covariance.len().isqrt();
    let trace: f64 = covariance.iter().step_by(dims + 1).sum();
    // Without any difference inside the labels every direction weighs the same.
    let variance = if trace > 0.0 { trace / dims as f64 } else { 1.0 };
    covariance.iter_mut().for_each(|value| *value *= 1.0 - shrinkage);
    let shrinkage = if trace > 0.0 { shrinkage } else { 1.0 };
    covariance.iter_mut().step_by(dims + 1).for_each(|value| *value += shrinkage * variance);
    covariance
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
