//! Training with one setting, and one temperature from held-out predictions.

mod background;
mod folds;
pub mod prototypes;
mod scaling;
pub mod separation;
mod solver;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::calibration;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::evaluation;
use crate::model::{Model, argmax, softmax};
use folds::folds;
use prototypes::{Prototypes, Similarity};
use separation::Separation;

/// Folds that are held out in turn: the more, the less worse the models that calibration sees than the final one,
/// and the longer it takes. A label with fewer examples has its share of them in fewer folds.
pub const FOLDS_OF_FEW: usize = 10;
/// Folds of [`MANY`] examples and more.
pub const FOLDS_OF_MANY: usize = 5;
/// Examples that make a fifth of them a small loss.
pub const MANY: usize = 2000;

/// Settings of training; recorded with the model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Settings {
    /// Every label is separated from the rest by the widest margin: the method for sparse features and for many
    /// examples.
    Separation(Separation),
    /// Every example is a row, close to the texts that are like it: the method for few examples with embeddings.
    Prototypes(Prototypes),
}

impl std::fmt::Display for Settings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Separation(Separation { cost, dense_scale, sparse_scale }) => write!(
                formatter,
                "by margins (cost {cost}, scale of meanings {dense_scale}, of words {sparse_scale})"
            ),
            Self::Prototypes(Prototypes { shrinkage, sharpness }) => {
                write!(formatter, "by nearness to examples (shrinkage {shrinkage}, sharpness {sharpness})")
            }
        }
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
    /// Returns the share of examples whose own label got the highest score.
    pub fn accuracy(&self) -> f64 {
        let right =
            self.scores.iter().zip(&self.targets).filter(|(scores, target)| argmax(scores) == Some(**target));
        right.count() as f64 / self.targets.len().max(1) as f64
    }

    /// Fits the temperature and returns it with the log loss under it (nats).
    pub fn calibrate(&self) -> (f32, f64) {
        let temperature = calibration::temperature(&self.scores, &self.targets);
        (temperature, calibration::log_loss(&self.scores, &self.targets, temperature))
    }

    /// Returns the expected calibration error under a temperature, 0 to 1.
    pub fn calibration_error(&self, temperature: f32) -> f64 {
        let probabilities: Vec<Vec<f32>> =
            self.scores.iter().map(|scores| softmax(scores, temperature)).collect();
        evaluation::calibration_error(&probabilities, &self.targets)
    }
}

/// A model and the held-out predictions of its calibration.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// How it was trained.
    pub settings: Settings,
    /// The predictions that its temperature was fitted on; with a background they have its scores too.
    pub held_out: HeldOut,
    /// How many texts of the background it knows.
    pub background: usize,
}

/// Trains on all examples; the temperature comes from predictions for held-out folds, pooled over all labels.
///
/// # Errors
///
/// When fewer than two labels have examples, or the examples lack what the method needs.
pub fn train(examples: &Dataset, settings: &Settings) -> Result<Trained, Error> {
    let examples = with_examples(examples, settings)?;
    let held_out = predict_held_out(&examples, settings);
    let mut model = fit(&examples, settings);
    model.temperature = held_out.calibrate().0;
    Ok(Trained { model, settings: *settings, held_out, background: 0 })
}

/// Trains as [`train`] does, then adds texts that belong to no category: those of `background`, which has one label.
/// It is the name of the category for such tickets, which may have examples as well. Texts that are as near to a
/// category as its own examples are left out, and all of them where cross-validation says that they do harm.
/// Separation takes no background: it is for many examples, which name their own.
///
/// # Errors
///
/// As [`train`].
pub fn train_with_background(
    examples: &Dataset,
    background: &Dataset,
    settings: &Settings,
) -> Result<Trained, Error> {
    let trained = train(examples, settings)?;
    let Settings::Prototypes(prototypes) = settings else { return Ok(trained) };
    Ok(background::add(trained, &with_examples(examples, settings)?, background, prototypes.shrinkage))
}

/// Predicts every example by a model trained without its fold.
///
/// # Errors
///
/// As [`train`].
pub fn hold_out(examples: &Dataset, settings: &Settings) -> Result<HeldOut, Error> {
    Ok(predict_held_out(&with_examples(examples, settings)?, settings))
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

/// Returns the examples with only the labels that have any.
fn with_examples(examples: &Dataset, settings: &Settings) -> Result<Dataset, Error> {
    let prototypes = matches!(settings, Settings::Prototypes(_));
    if examples.dims() == 0 && (prototypes || examples.columns() == 0) {
        return Err(if prototypes { Error::Embeddings } else { Error::Empty });
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

/// Fits a model without a temperature.
fn fit(examples: &Dataset, settings: &Settings) -> Model {
    match settings {
        Settings::Separation(separation) => separation::fit(examples, separation),
        Settings::Prototypes(Prototypes { shrinkage, sharpness }) => {
            prototypes::fit(examples, &Similarity::of(examples, *shrinkage), *sharpness)
        }
    }
}
