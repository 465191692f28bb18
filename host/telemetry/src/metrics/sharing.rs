//! Holds the metrics of the state that hosts share.

use prometheus::{Gauge, IntCounter, Registry, Result};

use crate::{
    catalog,
    series::{Series, SlotSeries as _},
};

/// Results of a synchronization; their counts exist at zero once a slot shares.
const RESULTS: [&str; 4] = ["applied", "refused", "failed", "published"];

/// Metrics of the shared state; a host without sharing has no series.
pub struct SharingMetrics {
    reachable: Series<Gauge, 0>,
    generations: Series<Gauge, 2>,
    syncs: Series<IntCounter, 2>,
}

impl SharingMetrics {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            reachable: Series::register(&catalog::SHARED_REACHABLE, registry)?,
            generations: Series::register(&catalog::SLOT_GENERATION, registry)?,
            syncs: Series::register(&catalog::SHARED_FOLLOWS, registry)?,
        })
    }

    /// Sets whether the database has answered.
    pub fn set_reachable(&self, answers: bool) {
        self.reachable.get([]).set(f64::from(u8::from(answers)));
    }

    /// Sets a slot's generations: the desired one of all hosts, if it is known, and the one applied here.
    pub fn generations(&self, slot: &str, desired: Option<u64>, applied: u64) {
        for result in RESULTS {
            self.syncs.get([slot, result]);
        }
        if let Some(desired) = desired {
            self.generations.get([slot, "desired"]).set(desired as f64);
        }
        self.generations.get([slot, "applied"]).set(applied as f64);
    }

    /// Removes a slot's series.
    pub(super) fn remove(&self, slot: &str) {
        self.syncs.remove_slot(slot);
        self.generations.remove_slot(slot);
    }

    /// Counts the result of a synchronization: `applied`, `refused`, `failed` or `published`.
    pub fn record_sync(&self, slot: &str, result: &'static str) {
        self.syncs.get([slot, result]).inc();
    }
}
