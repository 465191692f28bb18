//! The writes of a shadow call or a probe, which end with it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{change::Change, error::KeyValueError};

/// Most bytes of the keys and values of one call.
const OVERLAY_BYTES: usize = 4 << 20;
/// Bytes that an entry takes in addition to its key and value, at least.
const ENTRY_BYTES: usize = 128;

/// The values that a call has set, and the keys that it has deleted, by store.
#[derive(Default)]
pub(crate) struct Overlay(Mutex<Writes>);

#[derive(Default)]
struct Writes {
    values: BTreeMap<(Arc<str>, String), Option<Vec<u8>>>,
    bytes: usize,
}

impl Overlay {
    fn lock(&self) -> MutexGuard<'_, Writes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the call has made of a key: a value, or none where it has deleted the key; `None` where it has done
    /// neither.
    pub(crate) fn get(&self, store: &Arc<str>, key: &str) -> Option<Option<Vec<u8>>> {
        self.lock().values.get(&(Arc::clone(store), key.to_owned())).cloned()
    }

    /// Makes a change; `sum` is the value of an increment.
    pub(crate) fn write(&self, store: &Arc<str>, change: Change, sum: u64) -> Result<(), KeyValueError> {
        let mut writes = self.lock();
        match change {
            Change::Set(pairs) => {
                pairs.into_iter().try_for_each(|(key, value)| writes.put(store, key, Some(value)))
            }
            Change::Delete(keys) => keys.into_iter().try_for_each(|key| writes.put(store, key, None)),
            Change::Increment { key, .. } => writes.put(store, key, Some(sum.to_string().into_bytes())),
        }
    }
}

impl Writes {
    fn put(&mut self, store: &Arc<str>, key: String, value: Option<Vec<u8>>) -> Result<(), KeyValueError> {
        let more = ENTRY_BYTES + key.len() + value.as_ref().map_or(0, Vec::len);
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > OVERLAY_BYTES {
            let text = format!("a shadow call or a probe may write {OVERLAY_BYTES} bytes");
            return Err(KeyValueError::Refused(text));
        }
        self.values.insert((Arc::clone(store), key), value);
        Ok(())
    }
}
