//! What a slot may open, and the bucket that a guest has opened.

use std::sync::Arc;

use bulkhead_config::slots::SlotSettings;
use bulkhead_runtime::capabilities::HostResource;

use super::{
    change::Change,
    error::KeyValueError,
    metrics::{Operation, SlotKeyValueMetrics},
    stores::{KeyPage, KeyValue},
};

/// The stores that a slot may open. A value of the slot's resources.
#[derive(Clone, Debug)]
pub struct SlotKeyValue {
    stores: Arc<KeyValue>,
    allowed: Vec<String>,
    metrics: SlotKeyValueMetrics,
}

/// Why a slot gets no bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenFailure {
    /// The host has no such store.
    NoSuchStore,
    /// The slot may not open it.
    Denied,
}

impl SlotKeyValue {
    /// Returns the stores that a slot may open under its settings.
    ///
    /// # Errors
    /// When they name a store that does not exist.
    pub fn new(
        stores: &Arc<KeyValue>,
        slot: &SlotSettings,
        metrics: SlotKeyValueMetrics,
    ) -> Result<Self, KeyValueError> {
        if let Some(unknown) = slot.keyvalue.iter().find(|name| !stores.has(name)) {
            let slot = slot.id();
            return Err(KeyValueError::Settings(format!(
                "the key keyvalue of slot {slot} names the store {unknown}, which does not exist; add \
                 [keyvalue.stores.{unknown}]"
            )));
        }
        Ok(Self { stores: Arc::clone(stores), allowed: slot.keyvalue.clone(), metrics })
    }

    /// Returns a bucket of a store that the slot may open.
    pub(crate) fn open(&self, store: &str) -> Result<StoreBucket, OpenFailure> {
        if !self.stores.has(store) {
            return Err(OpenFailure::NoSuchStore);
        }
        if !self.allowed.iter().any(|allowed| allowed == store) {
            return Err(OpenFailure::Denied);
        }
        Ok(StoreBucket {
            stores: Arc::clone(&self.stores),
            store: store.into(),
            metrics: self.metrics.clone(),
        })
    }

    /// Returns the list that would allow a store, too.
    pub(crate) fn grant(&self, store: &str) -> String {
        let names = self.allowed.iter().map(String::as_str).chain([store]);
        let list = names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        format!("keyvalue = [{list}]")
    }
}

/// A bucket: the pairs of a store that a guest has opened.
#[derive(Clone, Debug)]
pub struct StoreBucket {
    stores: Arc<KeyValue>,
    pub(crate) store: Arc<str>,
    metrics: SlotKeyValueMetrics,
}

impl HostResource for StoreBucket {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.store.len()
    }
}

impl StoreBucket {
    pub(crate) async fn values(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, KeyValueError> {
        let running = self.metrics.begin(Operation::Get);
        let answer = self.stores.values(&self.store, keys).await;
        running.end(&answer);
        answer
    }

    pub(crate) async fn exists(&self, key: &str) -> Result<bool, KeyValueError> {
        let running = self.metrics.begin(Operation::Exists);
        let answer = self.stores.exists(&self.store, key).await;
        running.end(&answer);
        answer
    }

    pub(crate) async fn page(&self, cursor: Option<u64>) -> Result<KeyPage, KeyValueError> {
        let running = self.metrics.begin(Operation::ListKeys);
        let answer = self.stores.page(&self.store, cursor).await;
        running.end(&answer);
        answer
    }

    /// Returns how many operations ended with an outcome.
    #[cfg(test)]
    pub(crate) fn ended(&self, operation: Operation, outcome: &'static str) -> u64 {
        self.metrics.ended(operation, outcome)
    }

    /// Checks what can be checked of a change without the store.
    pub(crate) fn check(&self, change: &Change) -> Result<(), KeyValueError> {
        self.stores.check(&self.store, change)
    }

    pub(crate) async fn write(&self, change: &Change) -> Result<u64, KeyValueError> {
        let running = self.metrics.begin(match change {
            Change::Set(_) => Operation::Set,
            Change::Delete(_) => Operation::Delete,
            Change::Increment { .. } => Operation::Increment,
        });
        let answer = self.stores.write(&self.store, change).await;
        running.end(&answer);
        answer
    }
}
