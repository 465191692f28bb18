//! Idle instances of a slot that reuses them (`reuse = true`).

use std::sync::{Mutex, PoisonError};

use wasmtime::Store;

use super::{Version, World};
use crate::capabilities::StoreData;

/// Calls that one instance serves before it is replaced: this bounds what a leak in a guest takes.
const MAX_CALLS_PER_INSTANCE: u32 = 1000;

/// An instance that may serve more than one call.
pub struct PooledInstance<W> {
    /// The store that it lives in.
    pub store: Store<StoreData>,
    /// Its typed exports.
    pub instance: W,
    calls: u32,
}

impl<W> PooledInstance<W> {
    /// Wraps a fresh instance.
    pub const fn new(store: Store<StoreData>, instance: W) -> Self {
        Self { store, instance, calls: 0 }
    }
}

/// The idle instances of a slot, of all its versions. Idle instances and running calls together never exceed the
/// permits of the slot, which is what the pooling allocator reserves for it.
pub(super) struct InstancePool<W>(Mutex<Vec<(u64, PooledInstance<W>)>>);

impl<W> Default for InstancePool<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W: World> InstancePool<W> {
    /// Takes the idle instance of `version` that was used last. If none is idle, and `has_room` is false for the
    /// number of idle instances, evicts the oldest instance of another version, so that a fresh one fits.
    pub(super) fn take(
        &self,
        version: &Version<W>,
        has_room: impl FnOnce(usize) -> bool,
    ) -> Option<PooledInstance<W>> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = idle.iter().rposition(|(serial, _)| *serial == version.serial) {
            return Some(idle.remove(last).1);
        }
        let evicted = (!idle.is_empty() && !has_room(idle.len())).then(|| idle.remove(0));
        drop(idle);
        // After the lock is released: dropping an instance is slow.
        drop(evicted);
        None
    }

    /// Puts an instance whose call succeeded into the pool, unless it has served all its calls or its version is
    /// retired.
    pub(super) fn put(&self, version: &Version<W>, mut instance: PooledInstance<W>) {
        instance.calls += 1;
        if instance.calls < MAX_CALLS_PER_INSTANCE {
            let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !version.is_retired() {
                idle.push((version.serial, instance));
            }
        }
    }

    /// Drops the idle instances of `version` and accepts no further ones.
    pub(super) fn retire(&self, version: &Version<W>) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        version.retire();
        let retired: Vec<_> = idle.extract_if(.., |(serial, _)| *serial == version.serial).collect();
        drop(idle);
        drop(retired);
    }
}
