//! The metrics of the ledger's connection pool, under the names of the pool that the replaced service used.

use bulkhead_ledger::{PoolStats, Timing};
use bulkhead_telemetry::{
    MetricSet,
    family::{Family, Kind, families},
    series::{Series, Summary},
};
use prometheus::{Gauge, IntCounter, Registry, Result};

families! {
    SIZE: Kind::Gauge, "hikaricp_connections" ["pool"] "",
        "Open database connections.";
    ACTIVE: Kind::Gauge, "hikaricp_connections_active" ["pool"] "",
        "Database connections in use.";
    IDLE: Kind::Gauge, "hikaricp_connections_idle" ["pool"] "",
        "Database connections not in use.";
    PENDING: Kind::Gauge, "hikaricp_connections_pending" ["pool"] "",
        "Calls waiting for a database connection.";
    MAX: Kind::Gauge, "hikaricp_connections_max" ["pool"] "",
        "Most database connections there may be.";
    MIN: Kind::Gauge, "hikaricp_connections_min" ["pool"] "",
        "Database connections kept open.";
    TIMEOUTS: Kind::Counter, "hikaricp_connections_timeout_total" ["pool"] "",
        "Calls that got no database connection in time.";
    ACQUIRE: Kind::Summary, "hikaricp_connections_acquire_seconds" ["pool"] "seconds",
        "Time to get a database connection.";
    USAGE: Kind::Summary, "hikaricp_connections_usage_seconds" ["pool"] "seconds",
        "Time that a database connection was in use.";
}

/// The value of the label.
const POOL: &str = "captcha";

/// The metrics of the pool. They have no series before the first figures.
pub(crate) struct PoolMetrics {
    size: Series<Gauge, 1>,
    idle: Series<Gauge, 1>,
    active: Series<Gauge, 1>,
    pending: Series<Gauge, 1>,
    max: Series<Gauge, 1>,
    min: Series<Gauge, 1>,
    timeouts: Series<IntCounter, 1>,
    acquire: Series<Summary, 1>,
    usage: Series<Summary, 1>,
}

impl MetricSet for PoolMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            size: Series::register(&SIZE, registry)?,
            idle: Series::register(&IDLE, registry)?,
            active: Series::register(&ACTIVE, registry)?,
            pending: Series::register(&PENDING, registry)?,
            max: Series::register(&MAX, registry)?,
            min: Series::register(&MIN, registry)?,
            timeouts: Series::register(&TIMEOUTS, registry)?,
            acquire: Series::register(&ACQUIRE, registry)?,
            usage: Series::register(&USAGE, registry)?,
        })
    }
}

impl PoolMetrics {
    /// Sets the figures.
    pub(crate) fn set(&self, stats: &PoolStats) {
        let gauges = [
            (&self.size, stats.size),
            (&self.idle, stats.idle),
            (&self.active, stats.active),
            (&self.pending, u32::try_from(stats.pending).unwrap_or(u32::MAX)),
            (&self.max, stats.max),
            (&self.min, stats.min),
        ];
        for (gauge, value) in gauges {
            gauge.get([POOL]).set(value.into());
        }
        let timeouts = self.timeouts.get([POOL]);
        timeouts.inc_by(stats.timeouts.saturating_sub(timeouts.get()));
        for (series, Timing { count, sum, max }) in
            [(&self.acquire, &stats.acquire), (&self.usage, &stats.usage)]
        {
            series.get([POOL]).set(*count, *sum, *max);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_telemetry::exposition::Format;

    use super::*;

    #[test]
    fn the_last_snapshot_counts() {
        let registry = Registry::new();
        let metrics = PoolMetrics::register(&registry).unwrap();
        let acquire = Timing { count: 4, sum: 0.5, max: 0.25 };
        let first = PoolStats { size: 2, active: 1, timeouts: 3, acquire, ..PoolStats::default() };
        metrics.set(&first);
        metrics.set(&PoolStats { timeouts: 5, ..first });
        let text = Format::Text.encode(&registry.gather()).unwrap();
        for line in [
            "hikaricp_connections{pool=\"captcha\"} 2",
            "hikaricp_connections_active{pool=\"captcha\"} 1",
            "hikaricp_connections_timeout_total{pool=\"captcha\"} 5",
            "hikaricp_connections_acquire_seconds_count{pool=\"captcha\"} 4",
            "hikaricp_connections_acquire_seconds_sum{pool=\"captcha\"} 0.5",
            "hikaricp_connections_acquire_seconds_max{pool=\"captcha\"} 0.25",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
    }
}
