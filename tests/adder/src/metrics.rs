//! The service's metrics.

use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::{
    MetricSet,
    family::{Family, Kind, families},
    series::{Series, SlotSeries},
};
use prometheus::{IntCounter, Registry};

families! {
    REQUESTS: Kind::Counter, "adder_requests_total" ["outcome"] "", "Requests for a sum by outcome.";
    SUMS: Kind::Counter, "adder_sums_total" ["slot"] "", "Requests that were answered with a sum, by slot.";
}

/// Label of a request that was answered with a sum, and of one that was not.
const OUTCOMES: [&str; 2] = ["answered", "failed"];

/// Counts requests.
pub struct AdderMetrics {
    outcomes: [IntCounter; 2],
    sums: Series<IntCounter, 1>,
}

impl MetricSet for AdderMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let requests: Series<IntCounter, 1> = Series::register(&REQUESTS, registry)?;
        let outcomes = OUTCOMES.map(|outcome| requests.get([outcome]));
        Ok(Self { outcomes, sums: Series::register(&SUMS, registry)? })
    }

    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        vec![&self.sums]
    }
}

impl AdderMetrics {
    /// Counts a request that a slot was asked for and that has ended.
    pub fn ended(&self, slot: SlotId, is_answered: bool) {
        let [answered, failed] = &self.outcomes;
        if is_answered {
            answered.inc();
            self.sums.get([slot.as_str()]).inc();
        } else {
            failed.inc();
        }
    }
}
