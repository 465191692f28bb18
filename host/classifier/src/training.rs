//! One way to train: every label against the rest, then one temperature from held-out predictions.

mod folds;
mod scaling;
#[cfg(test)]
mod tests;

use std::thread;

use serde::{Deserialize, Serialize};

use crate::calibration;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::model::Model;
use crate::solver::{Problem, Weights};
use folds::folds;
use scaling::Scaling;

/// Examples of a label from which on calibration and selection hold out a fifth of them in turn; with fewer,
/// every fold is still predicted by the others, but the folds are as many as the examples of the rarest label
/// allow, at least [`FEWEST_FOLDS`].
pub const MOST_FOLDS: usize = 5;
/// The fewest folds.
pub const FEWEST_FOLDS: usize = 2;

/// How a model is trained; recorded with it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What an example on the wrong side costs against the penalty on the weights (liblinear's C).
    pub cost: f64,
    /// Root mean square length of the centred embeddings.
    pub dense_scale: f64,
    /// Root mean square length of the weighted sparse features.
    pub sparse_scale: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { cost: 1.0, dense_scale: 1.0, sparse_scale: 1.0 }
    }
}

/// Predictions for each example by a model that had not seen it.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// Index of each example's label, among those that have examples.
    pub targets: Vec<usize>,
    /// `[n, k]` scores before any temperature.
    pub scores: Vec<Vec<f32>>,
    /// How many models predicted.
    pub folds: usize,
}

impl HeldOut {
    /// Share of examples whose own label got the highest score.
    pub fn accuracy(&self) -> f64 {
        let right =
            self.scores.iter().zip(&self.targets).filter(|(scores, target)| best(scores) == Some(**target));
        right.count() as f64 / self.targets.len().max(1) as f64
    }

    /// The temperature that suits the predictions, and their surprise under it (nats).
    pub fn calibrate(&self) -> (f32, f64) {
        let temperature = calibration::temperature(&self.scores, &self.targets);
        (temperature, calibration::surprise(&self.scores, &self.targets, temperature))
    }
}

/// A model and what its calibration was fitted on.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// How it was trained.
    pub settings: Settings,
    /// What its temperature was fitted on.
    pub held_out: HeldOut,
}

/// Trains on all examples; the temperature comes from predictions for held-out folds, pooled over all labels.
///
/// # Errors
///
/// When fewer than two labels have examples, or the examples have neither embeddings nor features.
pub fn train(examples: &Dataset, settings: &Settings) -> Result<Trained, Error> {
    let examples = with_examples(examples)?;
    let held_out = predict_held_out(&examples, settings);
    let mut model = fit(&examples, settings);
    model.temperature = held_out.calibrate().0;
    Ok(Trained { model, settings: *settings, held_out })
}

/// Predicts every example by a model trained without its fold.
///
/// # Errors
///
/// As [`train`].
pub fn hold_out(examples: &Dataset, settings: &Settings) -> Result<HeldOut, Error> {
    Ok(predict_held_out(&with_examples(examples)?, settings))
}

fn predict_held_out(examples: &Dataset, settings: &Settings) -> HeldOut {
    let folds = folds(examples);
    let count = folds.iter().max().map_or(0, |last| last + 1);
    let mut scores = vec![Vec::new(); examples.len()];
    for fold in 0..count {
        let model = fit(&examples.subset(|index| folds.get(index) != Some(&fold)), settings);
        let of_fold = folds.iter().enumerate().zip(&mut scores).filter(|((_, of), _)| **of == fold);
        for ((index, _), scores) in of_fold {
            *scores = examples.example(index).map(|example| model.scores(example)).unwrap_or_default();
        }
    }
    HeldOut { targets: examples.targets().to_vec(), scores, folds: count }
}

/// The examples with only the labels that have any.
fn with_examples(examples: &Dataset) -> Result<Dataset, Error> {
    if examples.dims() == 0 && examples.columns() == 0 {
        return Err(Error::Empty);
    }
    let support = examples.support();
    let used: Vec<usize> =
        (0..support.len()).filter(|at| support.get(*at).is_some_and(|count| *count > 0)).collect();
    if used.len() < 2 {
        return Err(Error::Categories(used.len()));
    }
    let labels = used.iter().filter_map(|at| examples.labels().get(*at).cloned()).collect();
    let mut kept = Dataset::new(labels, examples.dims(), examples.columns());
    for (example, target) in examples.examples().zip(examples.targets()) {
        let Ok(target) = used.binary_search(target) else { continue };
        kept.push(target, example.dense, example.sparse.clone())?;
    }
    Ok(kept)
}

/// A model without a fitted temperature.
fn fit(examples: &Dataset, settings: &Settings) -> Model {
    let scaling = Scaling::of(examples, settings);
    let mut problem = Problem { dims: examples.dims(), columns: examples.columns(), ..Problem::default() };
    for example in examples.examples() {
        let (dense, sparse) = scaling.apply(example);
        problem.push(&dense, sparse);
    }
    let weights = solve_all(&problem, examples, settings.cost);
    scaling.fold(examples.labels().to_vec(), &weights)
}

/// Weights of every label, in order, on as many threads as there are processors.
fn solve_all(problem: &Problem, examples: &Dataset, cost: f64) -> Vec<Weights> {
    let solve = |label: usize| {
        let positive: Vec<bool> = examples.targets().iter().map(|target| *target == label).collect();
        problem.solve(&positive, cost)
    };
    let labels = examples.labels().len();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(labels);
    let share = |first: usize| -> Vec<(usize, Weights)> {
        (first..labels).step_by(threads).map(|label| (label, solve(label))).collect()
    };
    let share = &share;
    let mut solved: Vec<(usize, Weights)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Vec<(usize, Weights)>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    });
    solved.sort_by_key(|(label, _)| *label);
    solved.into_iter().map(|(_, weights)| weights).collect()
}

/// Index of the highest score; the first of equals.
pub(crate) fn best(scores: &[f32]) -> Option<usize> {
    let better = |best: Option<(usize, f32)>, (at, score): (usize, &f32)| match best {
        Some((_, highest)) if *score <= highest => best,
        _ => Some((at, *score)),
    };
    scores.iter().enumerate().fold(None, better).map(|(at, _)| at)
}
