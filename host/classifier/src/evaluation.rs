//! Evaluation of predictions: accuracy, a table by category, calibration and coverage.

pub mod categories;
pub mod coverage;
mod plot;
pub mod reliability;
mod table;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::error::Error;
use crate::model::argmax;
use categories::Category;
use coverage::Point;
use reliability::Bin;

/// A prediction and the truth.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// `[k]` probabilities in the order of the labels.
    pub probabilities: Vec<f32>,
    /// Index of the true label; `None` when the ticket belongs to no category, so that the right answer is to
    /// refuse.
    pub target: Option<usize>,
}

/// The evaluation of predictions. Accuracy, F1, calibration and the confusion matrix count the tickets that belong to
/// a category and take the label with the highest probability, before any threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Tickets that belong to a category.
    pub tickets: usize,
    /// Tickets that belong to none.
    pub outside: usize,
    /// Share of right labels, 0 to 1.
    pub accuracy: f64,
    /// Mean of the categories' F1, those without tickets left out.
    pub macro_f1: f64,
    /// Expected calibration error: mean distance between confidence and accuracy over
    /// [`reliability::BINS`] bins of equal width, weighted by their tickets.
    pub calibration_error: f64,
    /// A row a category.
    pub categories: Vec<Category>,
    /// `[k, k]` tickets: rows are true labels, columns predicted ones.
    pub confusion: Vec<Vec<usize>>,
    /// Confidence against accuracy.
    pub reliability: Vec<Bin>,
    /// Coverage and accuracy by threshold on the confidence.
    pub coverage: Vec<Point>,
}

/// A predicted label, its probability, and the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Decision {
    label: usize,
    confidence: f64,
    target: Option<usize>,
}

impl Decision {
    fn right(&self) -> bool {
        self.target == Some(self.label)
    }
}

/// Evaluates predictions over `labels`. A ticket that is predicted as the label `none` is refused.
///
/// # Errors
///
/// When no ticket belongs to a category, or a prediction does not fit the labels.
pub fn evaluate(labels: &[String], predictions: &[Prediction], none: Option<usize>) -> Result<Report, Error> {
    let decisions =
        predictions.iter().enumerate().map(|(index, prediction)| decide(labels, index, prediction));
    let decisions = decisions.collect::<Result<Vec<_>, Error>>()?;
    let (inside, outside): (Vec<Decision>, Vec<Decision>) =
        decisions.into_iter().partition(|decision| decision.target.is_some());
    if inside.is_empty() {
        return Err(Error::Predictions("no ticket belongs to a category of the classifier".to_owned()));
    }
    let confusion = categories::confusion(labels.len(), &inside);
    let categories = categories::table(labels, &confusion);
    let reliability = reliability::bins(&inside);
    Ok(Report {
        tickets: inside.len(),
        outside: outside.len(),
        accuracy: inside.iter().filter(|decision| decision.right()).count() as f64 / inside.len() as f64,
        macro_f1: categories::macro_f1(&categories),
        calibration_error: reliability::expected_error(&reliability),
        categories,
        confusion,
        reliability,
        coverage: coverage::curve(&inside, &outside, none),
    })
}

/// Returns the expected calibration error, 0 to 1, of probabilities `[n, k]`; `targets` are the true labels `[n]`.
pub fn calibration_error(probabilities: &[Vec<f32>], targets: &[usize]) -> f64 {
    let decision = |(probabilities, target): (&Vec<f32>, &usize)| {
        let label = argmax(probabilities)?;
        let confidence = f64::from(*probabilities.get(label)?);
        Some(Decision { label, confidence, target: Some(*target) })
    };
    let decisions: Vec<Decision> = probabilities.iter().zip(targets).filter_map(decision).collect();
    reliability::expected_error(&reliability::bins(&decisions))
}

fn decide(labels: &[String], index: usize, prediction: &Prediction) -> Result<Decision, Error> {
    let fits = prediction.probabilities.len() == labels.len()
        && prediction.target.is_none_or(|target| target < labels.len());
    let label = argmax(&prediction.probabilities).filter(|_| fits);
    let confidence = label.and_then(|label| prediction.probabilities.get(label));
    match (label, confidence) {
        (Some(label), Some(confidence)) if confidence.is_finite() => {
            Ok(Decision { label, confidence: f64::from(*confidence), target: prediction.target })
        }
        _ => Err(Error::Predictions(format!("prediction {index} does not fit the {} labels", labels.len()))),
    }
}

impl Report {
    /// Renders figures and tables for a terminal.
    pub fn text(&self) -> String {
        table::text(self)
    }

    /// Draws two plots side by side: confidence against accuracy, and coverage against accuracy.
    pub fn svg(&self) -> String {
        plot::svg(self)
    }
}
