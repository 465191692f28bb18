//! Whether confidence is the share of right answers.

use serde::Serialize;

use super::Decision;
use super::categories::share;

/// Bins of the reliability diagram, of equal width between 0 and 1.
pub const BINS: usize = 10;

/// Predictions of like confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// Lowest confidence.
    pub from: f64,
    /// Highest confidence; belongs to the next bin, in the last one to this.
    pub to: f64,
    /// Predictions.
    pub tickets: usize,
    /// Their mean confidence.
    pub confidence: Option<f64>,
    /// Share of them that is right.
    pub accuracy: Option<f64>,
}

pub(super) fn bins(decisions: &[Decision]) -> Vec<Bin> {
    let bin = |at: usize| {
        let of_bin = || decisions.iter().filter(move |decision| bin_of(decision.confidence) == at);
        let tickets = of_bin().count();
        let right = of_bin().filter(|decision| decision.right()).count();
        let confidence = of_bin().map(|decision| decision.confidence).sum::<f64>();
        let of_all = |sum: f64| (tickets > 0).then(|| sum / tickets as f64);
        let [from, to] = [at, at + 1].map(|edge| edge as f64 / BINS as f64);
        Bin { from, to, tickets, confidence: of_all(confidence), accuracy: of_all(right as f64) }
    };
    (0..BINS).map(bin).collect()
}

fn bin_of(confidence: f64) -> usize {
    ((confidence * BINS as f64) as usize).min(BINS - 1)
}

/// Returns the expected calibration error (Naeini et al. 2015, "Obtaining well calibrated probabilities using
/// Bayesian binning").
pub(super) fn expected_error(bins: &[Bin]) -> f64 {
    let tickets: usize = bins.iter().map(|bin| bin.tickets).sum();
    let apart = |bin: &Bin| Some((bin.confidence? - bin.accuracy?).abs() * share(bin.tickets, tickets));
    bins.iter().filter_map(apart).sum()
}
