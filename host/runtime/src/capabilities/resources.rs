//! The state that all calls of a slot share.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt,
    sync::Arc,
};

use bulkhead_config::slots::{SlotId, SlotSettings};
use bulkhead_os::clock::HostClock;
use bulkhead_telemetry::Metrics;

use super::slot_log::{LogBudget, RecentLines};
use crate::keys::KeyRing;

/// The state that all calls of a slot share: what every slot has, and one value per type for single capabilities.
pub struct SlotResources {
    /// The slot's id.
    pub slot: SlotId,
    /// The clock behind `wasi:clocks/wall-clock`.
    pub clock: HostClock,
    /// The keys behind `bulkhead:host/keys`.
    pub keys: KeyRing,
    /// The log budget of its guests, and of lines of the host about what a guest asks for.
    pub log: LogBudget,
    /// The log budget for the host's diagnoses of failed calls, of the same size, which no guest can use up.
    pub diagnoses: LogBudget,
    /// The last lines of the slot's log.
    pub recent: RecentLines,
    /// The metrics in which dropped log text is counted.
    pub metrics: Arc<Metrics>,
    extensions: BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for SlotResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotResources").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotResources {
    /// Returns the state of a slot under its `settings`, without values of single capabilities.
    pub fn new(settings: &SlotSettings, metrics: Arc<Metrics>) -> Self {
        Self {
            slot: settings.id(),
            clock: HostClock::system(),
            keys: KeyRing::default(),
            log: LogBudget::new(settings.limits.log_bytes_per_second),
            diagnoses: LogBudget::new(settings.limits.log_bytes_per_second),
            recent: RecentLines::default(),
            metrics,
            extensions: BTreeMap::new(),
        }
    }

    /// Returns whether a warning of the host about what a guest has asked for is within the log budget of the guests. If so, it
    /// is one of the last lines of the slot's log, and is to be logged; else it is counted as dropped.
    pub fn admits_warning(&self, context: &str, text: &str) -> bool {
        let is_within = self.log.take_line(text.len());
        if is_within {
            self.recent.add("warn", "", context.to_owned(), text.to_owned());
        } else {
            self.metrics.guest_log_dropped(self.slot.as_str(), text.len());
        }
        is_within
    }

    /// Adds a capability's value for the slot, and replaces a value of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.extensions.insert(TypeId::of::<T>(), value);
    }

    /// Returns a capability's value for the slot, if the slot's service has added it.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

#[cfg(test)]
pub(super) mod tests;
