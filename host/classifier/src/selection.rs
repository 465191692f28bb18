//! Model selection by cross-validation over several settings.

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::dataset::Dataset;
use crate::error::Error;
use crate::training::prototypes::Prototypes;
use crate::training::separation::Separation;
use crate::training::{Settings, hold_out};

/// Examples a label in the mean from which on embeddings are separated: prototypes would grow with every example,
/// and margins are known well enough.
pub const MANY_EXAMPLES: usize = 50;
/// Costs that are tried: each three times the one before, around liblinear's default.
const COSTS: [f64; 3] = [0.3, 1.0, 3.0];

/// A setting and its figures on held-out examples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Candidate {
    /// The setting.
    pub settings: Settings,
    /// Share of held-out examples that were right, 0 to 1.
    pub accuracy: f64,
    /// Mean log loss of the right label under the best temperature, nats.
    #[serde(rename = "surprise")]
    pub log_loss: f64,
}

/// Returns the settings that are worth trying on `examples`.
pub fn parameter_grid(examples: &Dataset) -> Vec<Settings> {
    let labels = examples.support().into_iter().filter(|support| *support > 0).count();
    if examples.dims() > 0 && examples.columns() == 0 && examples.len() < MANY_EXAMPLES * labels {
        return vec![Settings::Prototypes(Prototypes::default())];
    }
    COSTS.map(|cost| Settings::Separation(Separation { cost, ..Separation::default() })).to_vec()
}

/// Cross-validates all settings of `grid` and returns the best first. Accuracy decides, log loss where accuracy is
/// equal, and the order given where both are.
///
/// # Errors
///
/// As [`hold_out`].
pub fn compare(examples: &Dataset, grid: &[Settings]) -> Result<Vec<Candidate>, Error> {
    let cross_validate = |settings: &Settings| {
        let held_out = hold_out(examples, settings)?;
        let log_loss = held_out.calibrate().1;
        Ok(Candidate { settings: *settings, accuracy: held_out.accuracy(), log_loss })
    };
    let mut candidates = grid.iter().map(cross_validate).collect::<Result<Vec<_>, Error>>()?;
    let order = |one: &Candidate, other: &Candidate| {
        other.accuracy.total_cmp(&one.accuracy).then(one.log_loss.total_cmp(&other.log_loss))
    };
    candidates.sort_by(order);
    Ok(candidates)
}
