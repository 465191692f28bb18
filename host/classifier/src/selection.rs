//! Several ways to train; the one whose held-out predictions are right most often.

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

/// A way to train and how it did on held-out examples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Candidate {
    /// The way.
    pub settings: Settings,
    /// Share of held-out examples that were right, 0 to 1.
    pub accuracy: f64,
    /// Mean surprise at the right label under the best temperature, nats.
    pub surprise: f64,
}

/// The ways to train that are worth trying on `examples`.
pub fn ways(examples: &Dataset) -> Vec<Settings> {
    let labels = examples.support().into_iter().filter(|support| *support > 0).count();
    if examples.dims() > 0 && examples.columns() == 0 && examples.len() < MANY_EXAMPLES * labels {
        return vec![Settings::Prototypes(Prototypes::default())];
    }
    COSTS.map(|cost| Settings::Separation(Separation { cost, ..Separation::default() })).to_vec()
}

/// Tries all `ways`; the best first. Accuracy decides, surprise where accuracy is equal, and the order given
/// where both are.
///
/// # Errors
///
/// As [`hold_out`].
pub fn compare(examples: &Dataset, ways: &[Settings]) -> Result<Vec<Candidate>, Error> {
    let try_one = |settings: &Settings| {
        let held_out = hold_out(examples, settings)?;
        let surprise = held_out.calibrate().1;
        Ok(Candidate { settings: *settings, accuracy: held_out.accuracy(), surprise })
    };
    let mut tried = ways.iter().map(try_one).collect::<Result<Vec<_>, Error>>()?;
    let order = |one: &Candidate, other: &Candidate| {
        other.accuracy.total_cmp(&one.accuracy).then(one.surprise.total_cmp(&other.surprise))
    };
    tried.sort_by(order);
    Ok(tried)
}
