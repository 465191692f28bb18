//! Holds a slot's figures at one moment.

use prometheus::{Histogram, core::Metric as _};

/// A slot's figures at one moment, counted since the host's start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlotReading {
    /// Ended calls by outcome, every outcome.
    pub outcomes: Vec<(&'static str, u64)>,
    /// How long they took, from admission to outcome.
    pub latencies: Latencies,
    /// Calls running now.
    pub in_flight: u64,
    /// Calls waiting for a permit now.
    pub waiting: u64,
    /// Most memory that one call used, bytes.
    pub memory_high_water: u64,
}

impl SlotReading {
    /// Returns the number of ended calls of every outcome together.
    pub fn calls(&self) -> u64 {
        self.outcomes.iter().map(|(_, calls)| calls).sum()
    }

    /// Returns the difference to `earlier`; gauges stay as they are.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |name| earlier.outcomes.iter().find(|(known, _)| *known == name);
        let less = |(name, calls): &(&'static str, u64)| {
            (*name, calls.saturating_sub(before(*name).map_or(0, |(_, calls)| *calls)))
        };
        Self {
            outcomes: self.outcomes.iter().map(less).collect(),
            latencies: self.latencies.since(&earlier.latencies),
            ..*self
        }
    }
}

/// Times by size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// Upper bounds, seconds, and how many took at most so long.
    within: Vec<(f64, u64)>,
    count: u64,
}

impl Latencies {
    pub(super) fn of(times: &Histogram) -> Self {
        let metric = times.metric();
        let times = metric.get_histogram();
        let bucket = |bucket: &prometheus::proto::Bucket| (bucket.upper_bound(), bucket.cumulative_count());
        Self { within: times.get_bucket().iter().map(bucket).collect(), count: times.get_sample_count() }
    }

    /// Returns the times that were added after `earlier`.
    fn since(&self, earlier: &Self) -> Self {
        let before = earlier.within.iter().map(|(_, count)| *count).chain(std::iter::repeat(0));
        let within = self.within.iter().zip(before);
        Self {
            within: within.map(|((bound, count), before)| (*bound, count.saturating_sub(before))).collect(),
            count: self.count.saturating_sub(earlier.count),
        }
    }

    /// Returns the time, seconds, at `quantile` (0 to 1), interpolated between two bounds as Prometheus'
    /// `histogram_quantile` does; the last bound where it lies beyond that. None without times.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = quantile * self.count as f64;
        let mut lower = (0.0, 0);
        for (bound, count) in &self.within {
            if *count as f64 >= rank && *count > lower.1 {
                let share = (rank - lower.1 as f64) / (count - lower.1) as f64;
                return Some(lower.0 + (bound - lower.0) * share.clamp(0.0, 1.0));
            }
            lower = (*bound, *count);
        }
        Some(lower.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use prometheus::HistogramOpts;

    use super::*;

    fn latencies(times: &[f64]) -> Latencies {
        let options = HistogramOpts::new("test_seconds", "help").buckets(vec![1.0, 2.0, 4.0]);
        let histogram = Histogram::with_opts(options).unwrap();
        times.iter().for_each(|time| histogram.observe(*time));
        Latencies::of(&histogram)
    }

    #[test]
    fn quantiles_lie_within_their_bucket() {
        let times = latencies(&[0.5, 1.5, 1.5, 3.0]);
        assert_eq!(times.quantile(0.25), Some(1.0));
        assert_eq!(times.quantile(0.5), Some(1.5));
        assert_eq!(times.quantile(0.75), Some(2.0));
        assert_eq!(times.quantile(1.0), Some(4.0));
        assert_eq!(latencies(&[3.0]).quantile(0.5), Some(3.0));
    }

    #[test]
    fn time_beyond_buckets_counts_as_last_bound() {
        assert_eq!(latencies(&[0.5, 100.0]).quantile(0.99), Some(4.0));
        assert_eq!(latencies(&[]).quantile(0.5), None);
    }

    #[test]
    fn difference_holds_later_calls() {
        let reading = |ok, times: &[f64]| SlotReading {
            outcomes: vec![("ok", ok), ("trap", 1)],
            latencies: latencies(times),
            in_flight: ok,
            ..SlotReading::default()
        };
        let (earlier, later) = (reading(2, &[0.5, 0.5]), reading(5, &[0.5, 0.5, 3.0]));
        let between = later.since(&earlier);
        assert_eq!(between.outcomes, [("ok", 3), ("trap", 0)]);
        assert_eq!((between.calls(), between.in_flight), (3, 5));
        assert_eq!(between.latencies.quantile(0.5), Some(3.0));
        assert_eq!(later.since(&SlotReading::default()), later);
    }
}
