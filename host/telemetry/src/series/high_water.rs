//! Holds a gauge of the greatest value ever.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use prometheus::{Result, core::Metric, proto};

use crate::{family::Family, series::Cell};

/// A gauge that only rises.
#[derive(Clone, Default)]
pub struct HighWater(Arc<AtomicU64>);

impl HighWater {
    /// Raises the gauge to `value` where that is greater.
    pub fn raise(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    /// Returns the value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Metric for HighWater {
    fn metric(&self) -> proto::Metric {
        let mut gauge = proto::Gauge::default();
        gauge.set_value(self.get() as f64);
        proto::Metric::from_gauge(gauge)
    }
}

impl Cell for HighWater {
    fn create(_: &Family) -> Result<Self> {
        Ok(Self::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_falls() {
        let mark = HighWater::default();
        mark.raise(7);
        mark.raise(3);
        assert_eq!(mark.metric().get_gauge().get_value(), 7.0);
    }
}
