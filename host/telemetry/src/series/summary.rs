//! Keeps count, sum and recent maximum of observations, as Micrometer's timers and summaries do.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use prometheus::{Result, core::Metric, proto};

use crate::{family::Family, series::Cell};

/// A maximum is kept for this many parts of [`PART`], two minutes in all.
const PARTS: usize = 3;
/// How long one part of the window lasts: shorter forgets more smoothly, but needs more parts.
const PART: Duration = Duration::from_secs(40);

/// Count and sum of observations, and the greatest of about the last two minutes.
#[derive(Clone)]
pub struct Summary(Arc<Mutex<SummaryState>>);

struct SummaryState {
    begin: Instant,
    count: u64,
    sum: f64,
    /// Greatest of each part of the window, the present one first.
    recent: [f64; PARTS],
    /// Which part is the present one, counted from `begin`.
    part: u64,
}

impl Summary {
    /// Adds an observation.
    pub fn observe(&self, value: f64) {
        self.update(|state| state.observe(value));
    }

    /// Sets the values that another counter of the same kind has.
    pub fn set(&self, count: u64, sum: f64, max: f64) {
        self.update(|state| {
            state.count = count;
            state.sum = sum;
            state.recent = [max; PARTS];
        });
    }

    fn update<R>(&self, act: impl FnOnce(&mut SummaryState) -> R) -> R {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = state.begin.elapsed();
        state.advance(elapsed);
        act(&mut state)
    }
}

impl SummaryState {
    fn new() -> Self {
        Self { begin: Instant::now(), count: 0, sum: 0.0, recent: [0.0; PARTS], part: 0 }
    }

    /// Drops the parts of the window that are over at `elapsed` after the beginning.
    fn advance(&mut self, elapsed: Duration) {
        let part = elapsed.as_secs() / PART.as_secs();
        for _ in 0..part.saturating_sub(self.part).min(PARTS as u64) {
            self.recent.rotate_right(1);
            let [present, ..] = &mut self.recent;
            *present = 0.0;
        }
        self.part = self.part.max(part);
    }

    fn observe(&mut self, value: f64) {
        self.count = self.count.saturating_add(1);
        self.sum += value;
        let [present, ..] = &mut self.recent;
        *present = present.max(value);
    }

    fn max(&self) -> f64 {
        self.recent.iter().copied().fold(0.0, f64::max)
    }
}

impl Metric for Summary {
    fn metric(&self) -> proto::Metric {
        let (count, sum, max) = self.update(|state| (state.count, state.sum, state.max()));
        let mut quantile = proto::Quantile::default();
        quantile.set_quantile(1.0);
        quantile.set_value(max);
        let mut summary = proto::Summary::default();
        summary.set_sample_count(count);
        summary.set_sample_sum(sum);
        summary.set_quantile(vec![quantile]);
        let mut metric = proto::Metric::default();
        metric.set_summary(summary);
        metric
    }
}

impl Cell for Summary {
    fn create(_: &Family) -> Result<Self> {
        Ok(Self(Arc::new(Mutex::new(SummaryState::new()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_decays_and_the_sum_stays() {
        let mut state = SummaryState::new();
        state.observe(5.0);
        state.advance(Duration::from_secs(50));
        state.observe(2.0);
        assert_eq!(state.max(), 5.0);
        state.advance(Duration::from_secs(119));
        assert_eq!(state.max(), 5.0);
        state.advance(Duration::from_secs(120));
        assert_eq!(state.max(), 2.0);
        state.advance(Duration::from_secs(10_000));
        assert_eq!((state.max(), state.sum, state.count), (0.0, 7.0, 2));
    }
}
