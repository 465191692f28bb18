//! Holds the metrics of components that are pulled from registries.

use std::time::Instant;

use prometheus::{Histogram, IntCounter, Registry, Result};

use crate::{catalog, series::Series};

/// The caller has left.
const CANCELLED: &str = "cancelled";

/// Metrics of pulls, including those rejected because their registry is not allowed.
pub struct Pulls {
    ended: Series<IntCounter, 1>,
    time: Series<Histogram, 0>,
}

impl Pulls {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            ended: Series::register(&catalog::PULLS, registry)?,
            time: Series::register(&catalog::PULL_TIME, registry)?,
        })
    }

    /// Creates the counts of these outcomes at zero.
    pub fn expect(&self, outcomes: &[&'static str]) {
        for outcome in outcomes.iter().copied().chain([CANCELLED]) {
            self.ended.get([outcome]);
        }
        self.time.get([]);
    }

    /// Begins a pull, which is counted when the returned value is dropped.
    pub fn begin(&self) -> Pull<'_> {
        Pull { pulls: self, since: Instant::now(), outcome: CANCELLED }
    }
}

/// A running pull; dropped without an outcome it counts as cancelled.
pub struct Pull<'a> {
    pulls: &'a Pulls,
    since: Instant,
    outcome: &'static str,
}

impl Pull<'_> {
    /// Ends the pull with an outcome.
    pub fn end(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for Pull<'_> {
    fn drop(&mut self) {
        self.pulls.ended.get([self.outcome]).inc();
        self.pulls.time.get([]).observe(self.since.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn pull_is_counted_once() {
        let pulls = Pulls::register(&Registry::new()).unwrap();
        pulls.expect(&["ok", "not-found"]);
        pulls.begin().end("ok");
        drop(pulls.begin());
        let counted = ["ok", "not-found", CANCELLED].map(|outcome| pulls.ended.get([outcome]).get());
        assert_eq!((counted, pulls.time.get([]).get_sample_count()), ([1, 0, 1], 2));
    }
}
