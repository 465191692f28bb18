//! Holds the metrics of database connection pools, under the names of the pool that the replaced service used.

use prometheus::{Gauge, IntCounter, Registry, Result};

use crate::{
    catalog,
    series::{Series, Summary},
};

/// The state of a connection pool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolStats {
    /// Open connections.
    pub size: u32,
    /// Connections not in use.
    pub idle: u32,
    /// Connections in use.
    pub active: u32,
    /// Calls that wait for a connection.
    pub pending: u32,
    /// Most connections there may be.
    pub max: u32,
    /// Connections kept open.
    pub min: u32,
    /// Calls that got no connection in time, since the start.
    pub timeouts_total: u64,
    /// Times to get a connection.
    pub acquire: Times,
    /// Times that a connection was in use.
    pub usage: Times,
}

/// Times of one kind, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their sum, seconds.
    pub sum: f64,
    /// The recent maximum, seconds.
    pub max: f64,
}

/// The families that have a pool label.
pub(super) struct Pools {
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

impl Pools {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            size: Series::register(&catalog::POOL, registry)?,
            idle: Series::register(&catalog::POOL_IDLE, registry)?,
            active: Series::register(&catalog::POOL_ACTIVE, registry)?,
            pending: Series::register(&catalog::POOL_PENDING, registry)?,
            max: Series::register(&catalog::POOL_MAX, registry)?,
            min: Series::register(&catalog::POOL_MIN, registry)?,
            timeouts: Series::register(&catalog::POOL_TIMEOUTS, registry)?,
            acquire: Series::register(&catalog::POOL_ACQUIRE, registry)?,
            usage: Series::register(&catalog::POOL_USAGE, registry)?,
        })
    }

    pub(super) fn set(&self, pool: &str, stats: &PoolStats) {
        let gauges = [
            (&self.size, stats.size),
            (&self.idle, stats.idle),
            (&self.active, stats.active),
            (&self.pending, stats.pending),
            (&self.max, stats.max),
            (&self.min, stats.min),
        ];
        for (gauge, value) in gauges {
            gauge.get([pool]).set(value.into());
        }
        let timeouts = self.timeouts.get([pool]);
        timeouts.inc_by(stats.timeouts_total.saturating_sub(timeouts.get()));
        for (series, Times { count, sum, max }) in
            [(&self.acquire, stats.acquire), (&self.usage, stats.usage)]
        {
            series.get([pool]).set(count, sum, max);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::exposition::Format;

    #[test]
    fn the_last_snapshot_counts() {
        let registry = Registry::new();
        let pools = Pools::register(&registry).unwrap();
        let acquire = Times { count: 4, sum: 0.5, max: 0.25 };
        let first = PoolStats { size: 2, active: 1, timeouts_total: 3, acquire, ..PoolStats::default() };
        pools.set("ledger", &first);
        pools.set("ledger", &PoolStats { timeouts_total: 5, ..first });
        let text = Format::Text.encode(&registry.gather()).unwrap();
        for line in [
            "hikaricp_connections{pool=\"ledger\"} 2",
            "hikaricp_connections_active{pool=\"ledger\"} 1",
            "hikaricp_connections_timeout_total{pool=\"ledger\"} 5",
            "hikaricp_connections_acquire_seconds_count{pool=\"ledger\"} 4",
            "hikaricp_connections_acquire_seconds_sum{pool=\"ledger\"} 0.5",
            "hikaricp_connections_acquire_seconds_max{pool=\"ledger\"} 0.25",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
    }
}
