//! Figures of components that are pulled from registries.

use std::time::Instant;

use prometheus::{Histogram, IntCounter, Registry, Result};

use crate::{catalog, series::Series};

/// Whoever asked has left.
const CANCELLED: &str = "cancelled";

/// Pulls, those among them that are refused because their registry is not allowed.
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

    /// Pulls may end so from now on; each outcome begins at zero.
    pub fn expect(&self, outcomes: &[&'static str]) {
        for outcome in outcomes.iter().copied().chain([CANCELLED]) {
            self.ended.get([outcome]);
        }
        self.time.get([]);
    }

    /// Counts a pull once what comes back is dropped.
    pub fn begin(&self) -> Pull<'_> {
        Pull { pulls: self, since: Instant::now(), outcome: CANCELLED }
    }
}

/// A pull that runs; dropped without an end, whoever asked has left.
pub struct Pull<'a> {
    pulls: &'a Pulls,
    since: Instant,
    outcome: &'static str,
}

impl Pull<'_> {
    /// Notes how it ended.
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
    fn a_pull_is_counted_once_however_it_ends() {
        let pulls = Pulls::register(&Registry::new()).unwrap();
        pulls.expect(&["ok", "not-found"]);
        pulls.begin().end("ok");
        drop(pulls.begin());
        let counted = ["ok", "not-found", CANCELLED].map(|outcome| pulls.ended.get([outcome]).get());
        assert_eq!((counted, pulls.time.get([]).get_sample_count()), ([1, 0, 1], 2));
    }
}
