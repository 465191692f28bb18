//! Keeps times in buckets and the recent maximum, as Micrometer's timers with buckets do.

use std::time::Duration;

use prometheus::{Histogram, Result, core::Metric, proto};

use crate::{
    family::Family,
    series::{Cell, Summary},
};

/// Times in buckets, seconds, and the greatest of about the last two minutes.
#[derive(Clone)]
pub struct Timer {
    times: Histogram,
    recent: Summary,
}

impl Timer {
    /// Adds a time.
    pub fn observe(&self, time: Duration) {
        self.times.observe(time.as_secs_f64());
        self.recent.observe(time.as_secs_f64());
    }
}

impl Metric for Timer {
    fn metric(&self) -> proto::Metric {
        let mut metric = self.times.metric();
        metric.set_summary(self.recent.metric().get_summary().clone());
        metric
    }
}

impl Cell for Timer {
    fn create(family: &Family) -> Result<Self> {
        Ok(Self { times: Histogram::create(family)?, recent: Summary::create(family)? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use prometheus::Registry;

    use super::*;
    use crate::{exposition::Format, family::Kind, series::Series};

    static TIMES: Family = Family {
        name: "test_seconds",
        kind: Kind::Timer(&[0.5]),
        unit: "seconds",
        labels: &[],
        help: "help",
    };

    #[test]
    fn buckets_and_the_maximum_are_exposed() {
        let registry = Registry::new();
        let timer = Series::<Timer, 0>::register(&TIMES, &registry).unwrap().get([]);
        timer.observe(Duration::from_millis(250));
        timer.observe(Duration::from_secs(2));
        let text = Format::Text.encode(&registry.gather()).unwrap();
        for line in [
            "# TYPE test_seconds histogram",
            "test_seconds_bucket{le=\"0.5\"} 1",
            "test_seconds_sum 2.25",
            "test_seconds_count 2",
            "# TYPE test_seconds_max gauge",
            "test_seconds_max 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
