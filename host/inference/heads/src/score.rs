//! From logits to scores.

use serde_json::Value;

use crate::activation::sigmoid;
use crate::source::HeadError;

/// How a classifier's logits become scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreFunction {
    /// Probabilities of labels of which one holds.
    Softmax,
    /// A probability for each label, whatever the others have.
    Sigmoid,
    /// The logits: a regression.
    Identity,
}

impl ScoreFunction {
    /// Returns the function that `problem_type` of a model's configuration names. Without that, one label gets a
    /// probability of its own, and of several one holds.
    ///
    /// # Errors
    ///
    /// When the problem is not known.
    pub(crate) fn of(config: &Value, labels: usize) -> Result<Self, HeadError> {
        match config.get("problem_type") {
            None | Some(Value::Null) if labels == 1 => Ok(Self::Sigmoid),
            None | Some(Value::Null) => Ok(Self::Softmax),
            Some(Value::String(kind)) => match kind.as_str() {
                "single_label_classification" if labels == 1 => Ok(Self::Sigmoid),
                "single_label_classification" => Ok(Self::Softmax),
                "multi_label_classification" => Ok(Self::Sigmoid),
                "regression" => Ok(Self::Identity),
                other => Err(HeadError(format!("`problem_type` `{other}` is not known"))),
            },
            Some(_) => Err(HeadError("`problem_type` is not a string".to_owned())),
        }
    }

    /// Turns the logits of a text into scores.
    pub fn apply(self, logits: &mut [f32]) {
        match self {
            Self::Identity => {}
            Self::Sigmoid => logits.iter_mut().for_each(|x| *x = sigmoid(*x)),
            Self::Softmax => {
                let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                logits.iter_mut().for_each(|x| *x = (*x - highest).exp());
                let sum: f32 = logits.iter().sum();
                logits.iter_mut().for_each(|x| *x /= sum);
            }
        }
    }
}
