//! Coverage and accuracy of predictions above a threshold on the confidence.

use serde::Serialize;

use super::Decision;
use super::categories::share;

/// Thresholds from 0 to 1 in this many steps.
const STEPS: usize = 20;

/// The figures at one threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Predictions below it are refused, and those of the label of no category.
    pub threshold: f64,
    /// Share of the tickets of a category that are kept.
    pub coverage: f64,
    /// Share of those that are right; `None` when none is kept.
    pub accuracy: Option<f64>,
    /// Share of the tickets of no category that are kept all the same; `None` when there are none.
    pub outside_kept: Option<f64>,
}

pub(super) fn curve(inside: &[Decision], outside: &[Decision], none: Option<usize>) -> Vec<Point> {
    let point = |step: usize| {
        let threshold = step as f64 / STEPS as f64;
        let kept = |decision: &&Decision| decision.confidence >= threshold && Some(decision.label) != none;
        let count = inside.iter().filter(kept).count();
        let right = inside.iter().filter(kept).filter(|decision| decision.right()).count();
        Point {
            threshold,
            coverage: share(count, inside.len()),
            accuracy: (count > 0).then(|| share(right, count)),
            outside_kept: (!outside.is_empty())
                .then(|| share(outside.iter().filter(kept).count(), outside.len())),
        }
    };
    (0..=STEPS).map(point).collect()
}
