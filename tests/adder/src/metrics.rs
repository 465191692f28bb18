//! The service's metric.

use bulkhead_telemetry::{
    MetricSet,
    family::{Family, Kind, families},
    series::Series,
};
use prometheus::{IntCounter, Registry};

families! {
    REQUESTS: Kind::Counter, "adder_requests_total" ["outcome"] "", "Requests for a sum by outcome.";
}

/// Label of a request that was answered with a sum, and of one that was not.
const OUTCOMES: [&str; 2] = ["answered", "failed"];

/// Counts requests.
pub struct AdderMetrics([IntCounter; 2]);

impl MetricSet for AdderMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let requests: Series<IntCounter, 1> = Series::register(&REQUESTS, registry)?;
        Ok(Self(OUTCOMES.map(|outcome| requests.get([outcome]))))
    }
}

impl AdderMetrics {
    /// Counts a request that has ended.
    pub fn ended(&self, is_answered: bool) {
        let [answered, failed] = &self.0;
        if is_answered { answered.inc() } else { failed.inc() }
    }
}
