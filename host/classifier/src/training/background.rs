//! Texts of no category beside the examples of the categories: each is a row that only near texts reach.
//!
//! The categories' rows and their temperature stay as they are. A background text scores its similarity by the same
//! measure, more sharply, and from far below.

#[cfg(test)]
mod tests;

use super::folds::folds;
use super::prototypes::Similarity;
use super::{HeldOut, Trained};
use crate::dataset::{Dataset, Example};
use crate::model::{Model, log_sum_exp};

/// The factor of similarity to a background text, larger than that of an example: the texts next to a ticket decide,
/// not that there are hundreds of them.
const SHARPNESS: f64 = 18.0;
/// What a background text scores without any similarity. Chosen with the sharpness on a development set of German and
/// English tickets.
const BIAS: f64 = -9.5;
/// A text is left out if it is nearer to a category than this share of the categories' examples, each held out. An
/// office that serves one of the trades of the background so loses the texts of that trade. The first share that does
/// no harm is taken.
const SHARES: [f64; 3] = [0.7, 0.5, 0.3];
/// The share of held-out examples that may be lost, in addition to those that are wrong anyway.
const MOST_LOST: f64 = 0.05;
/// By how much the expected calibration error of held-out examples may rise.
const MOST_ERROR: f64 = 0.02;

/// The rows of background texts under one measure of similarity.
struct Rows {
    dims: usize,
    /// `[b, d]`, row by row.
    dense: Vec<f32>,
    /// `[b]`
    bias: Vec<f32>,
}

impl Rows {
    fn of(background: &Dataset, similarity: &Similarity) -> Self {
        let mut rows = Self { dims: background.dims(), dense: Vec::new(), bias: Vec::new() };
        for text in background.examples() {
            let (weights, bias) = similarity.row(text.dense, SHARPNESS);
            rows.dense.extend(weights);
            rows.bias.push((bias + BIAS) as f32);
        }
        rows
    }

    /// Returns `[b]` scores of an example.
    fn scores(&self, example: Example<'_>) -> Vec<f32> {
        let score = |(row, bias): (&[f32], &f32)| {
            bias + row.iter().zip(example.dense).map(|(weight, value)| weight * value).sum::<f32>()
        };
        self.dense.chunks_exact(self.dims.max(1)).zip(&self.bias).map(score).collect()
    }
}

/// Adds the texts of `background` to a model of prototypes that was trained on `examples`.
pub(super) fn add(trained: Trained, examples: &Dataset, background: &Dataset, shrinkage: f64) -> Trained {
    let Some(label) = background.labels().first() else { return trained };
    let own = trained.model.labels.iter().position(|known| known == label);
    let held_out = hold_out(examples, background, shrinkage);
    let nearness: Vec<f32> = background.examples().map(|text| nearest(&trained.model, text, own)).collect();
    for share in SHARES {
        let limit = limit(&trained.held_out, own, share);
        let kept: Vec<usize> = (0..nearness.len())
            .filter(|at| nearness.get(*at).is_some_and(|nearness| *nearness < limit))
            .collect();
        let joined = joined(&trained.held_out, &held_out, &kept, own);
        if !kept.is_empty() && is_harmless(&trained.held_out, &joined, trained.model.temperature) {
            let rows = Rows::of(background, &Similarity::of(examples, shrinkage));
            let model = with_rows(trained.model, &rows, &kept, own, label);
            return Trained { model, held_out: joined, background: kept.len(), ..trained };
        }
    }
    trained
}

/// Returns `[n, b]` scores of the background's texts for each example, by the similarity of the other folds.
fn hold_out(examples: &Dataset, background: &Dataset, shrinkage: f64) -> Vec<Vec<f32>> {
    let folds = folds(examples);
    let count = folds.iter().max().map_or(0, |last| last + 1);
    let mut scores = vec![Vec::new(); examples.len()];
    for fold in 0..count {
        let others = examples.subset(|index| folds.get(index) != Some(&fold));
        let rows = Rows::of(background, &Similarity::of(&others, shrinkage));
        let of_fold = folds.iter().zip(examples.examples()).zip(&mut scores);
        for ((_, example), scores) in of_fold.filter(|((of, _), _)| **of == fold) {
            *scores = rows.scores(example);
        }
    }
    scores
}

/// Returns the highest score of a text among the categories, without the one with index `own`.
fn nearest(model: &Model, text: Example<'_>, own: Option<usize>) -> f32 {
    let scores = model.scores(text).into_iter().enumerate().filter(|(label, _)| Some(*label) != own);
    scores.map(|(_, score)| score).fold(f32::NEG_INFINITY, f32::max)
}

/// Returns the score that `share` of the held-out examples stay below in their own category.
fn limit(held_out: &HeldOut, own: Option<usize>, share: f64) -> f32 {
    let of_categories =
        held_out.scores.iter().zip(&held_out.targets).filter(|(_, target)| Some(**target) != own);
    let mut scores: Vec<f32> =
        of_categories.filter_map(|(scores, target)| scores.get(*target).copied()).collect();
    scores.sort_by(f32::total_cmp);
    let at = (scores.len().saturating_sub(1) as f64 * share).round() as usize;
    scores.get(at).copied().unwrap_or(f32::NEG_INFINITY)
}

/// Returns the held-out predictions with the background's score: joined to the label `own`, or that of a label behind
/// the others.
fn joined(held_out: &HeldOut, background: &[Vec<f32>], kept: &[usize], own: Option<usize>) -> HeldOut {
    let join = |(scores, background): (&Vec<f32>, &Vec<f32>)| {
        let of_kept: Vec<f32> = kept.iter().filter_map(|at| background.get(*at).copied()).collect();
        let mut scores = scores.clone();
        let score = log_sum_exp(&of_kept);
        match own.and_then(|own| scores.get_mut(own)) {
            Some(own) => *own = log_sum_exp(&[*own, score]),
            None => scores.push(score),
        }
        scores
    };
    HeldOut { scores: held_out.scores.iter().zip(background).map(join).collect(), ..held_out.clone() }
}

fn is_harmless(without: &HeldOut, with: &HeldOut, temperature: f32) -> bool {
    without.accuracy() - with.accuracy() <= MOST_LOST
        && with.calibration_error(temperature) - without.calibration_error(temperature) <= MOST_ERROR
}

/// Returns the model with the rows of the kept texts, behind those of the label `own` or of a label of their own.
fn with_rows(mut model: Model, rows: &Rows, kept: &[usize], own: Option<usize>, label: &str) -> Model {
    let own = own.unwrap_or_else(|| {
        model.labels.push(label.to_owned());
        model.labels.len() - 1
    });
    let at = model.rows.iter().filter(|of| **of <= own).count();
    let dense = kept.iter().filter_map(|row| rows.dense.get(row * rows.dims..(row + 1) * rows.dims));
    model.dense.splice(at * model.dims..at * model.dims, dense.flatten().copied());
    model.bias.splice(at..at, kept.iter().filter_map(|row| rows.bias.get(*row).copied()));
    model.rows.splice(at..at, kept.iter().map(|_| own));
    model
}
