//! Registers the metrics of a service.

use bulkhead_telemetry::{MetricSet, Metrics, family::Family};

/// A set of metrics: its families, and how a host registers it.
#[derive(Clone, Copy, Debug)]
pub struct MetricRegistrar {
    /// Every family of the set.
    pub families: &'static [&'static Family],
    register: fn(&Metrics) -> prometheus::Result<()>,
}

impl MetricRegistrar {
    /// Returns the registrar of the set of type `T`.
    pub const fn of<T: MetricSet>() -> Self {
        Self { families: T::FAMILIES, register: |metrics| metrics.set::<T>().map(drop) }
    }

    /// Registers the set.
    ///
    /// # Errors
    /// When a family is wrong: its name is taken, or its number of labels differs.
    pub fn register(&self, metrics: &Metrics) -> prometheus::Result<()> {
        (self.register)(metrics)
    }
}
