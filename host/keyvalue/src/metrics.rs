//! Metrics of key-value operations, by slot.

use std::{fmt, time::Instant};

use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::{
    MetricSet,
    bounds::TIMES,
    family::{Family, Kind, families},
    series::{Series, SlotSeries},
};
use prometheus::{Histogram, IntCounter, Registry, Result};

use super::error::KeyValueError;

families! {
    KEYVALUE_OPERATIONS: Kind::Counter, "bulkhead_keyvalue_operations_total" ["slot", "operation", "outcome"] "",
        "Operations of guests on key-value stores by outcome.";
    KEYVALUE_TIME: Kind::Histogram(TIMES), "bulkhead_keyvalue_operation_seconds" ["slot"] "seconds",
        "Time of an operation on a key-value store.";
}

/// An operation on a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Get,
    Set,
    Delete,
    Exists,
    ListKeys,
    Increment,
}

impl Operation {
    const ALL: [Self; 6] =
        [Self::Get, Self::Set, Self::Delete, Self::Exists, Self::ListKeys, Self::Increment];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
            Self::Delete => "delete",
            Self::Exists => "exists",
            Self::ListKeys => "list-keys",
            Self::Increment => "increment",
        }
    }
}

/// How operations end; a caller that leaves is `cancelled`.
const OUTCOMES: [&str; 5] = ["ok", "refused", "disk-full", "unavailable", CANCELLED];
const CANCELLED: &str = "cancelled";

/// Metrics of key-value operations, by slot. A batch counts as one operation.
pub struct KeyValueMetrics {
    operations: Series<IntCounter, 3>,
    time: Series<Histogram, 1>,
}

impl fmt::Debug for KeyValueMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValueMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for KeyValueMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            operations: Series::register(&KEYVALUE_OPERATIONS, registry)?,
            time: Series::register(&KEYVALUE_TIME, registry)?,
        })
    }

    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        vec![&self.operations, &self.time]
    }
}

impl KeyValueMetrics {
    /// Returns the metrics of a slot, which begin at zero.
    pub fn slot(&self, id: SlotId) -> SlotKeyValueMetrics {
        let slot = id.as_str();
        for operation in Operation::ALL {
            for outcome in OUTCOMES {
                self.operations.get([slot, operation.as_str(), outcome]);
            }
        }
        SlotKeyValueMetrics { slot, operations: self.operations.clone(), time: self.time.get([slot]) }
    }
}

/// Metrics of a slot's operations. Clones share the series.
#[derive(Clone)]
pub struct SlotKeyValueMetrics {
    slot: &'static str,
    operations: Series<IntCounter, 3>,
    time: Histogram,
}

impl fmt::Debug for SlotKeyValueMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotKeyValueMetrics").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotKeyValueMetrics {
    /// Counts an operation when the returned value is dropped.
    pub(crate) fn begin(&self, operation: Operation) -> RunningOperation<'_> {
        RunningOperation { metrics: self, operation, since: Instant::now(), outcome: CANCELLED }
    }

    /// Returns how many operations ended with an outcome.
    #[cfg(test)]
    pub(crate) fn ended(&self, operation: Operation, outcome: &'static str) -> u64 {
        self.operations.get([self.slot, operation.as_str(), outcome]).get()
    }
}

/// A running operation; dropped without an outcome it counts as cancelled.
pub(crate) struct RunningOperation<'a> {
    metrics: &'a SlotKeyValueMetrics,
    operation: Operation,
    since: Instant,
    outcome: &'static str,
}

impl RunningOperation<'_> {
    /// Ends the operation as it was answered.
    pub(crate) fn end<T>(mut self, answer: &std::result::Result<T, KeyValueError>) {
        self.outcome = match answer {
            Ok(_) => "ok",
            Err(KeyValueError::Refused(_) | KeyValueError::Settings(_)) => "refused",
            Err(KeyValueError::DiskFull) => "disk-full",
            Err(KeyValueError::Unavailable) => "unavailable",
        };
    }
}

impl Drop for RunningOperation<'_> {
    fn drop(&mut self) {
        let Self { metrics, operation, since, outcome } = self;
        metrics.operations.get([metrics.slot, operation.as_str(), *outcome]).inc();
        metrics.time.observe(since.elapsed().as_secs_f64());
    }
}
