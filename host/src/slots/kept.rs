use std::sync::{Mutex, PoisonError};

use wasmtime::Store;

use super::{Version, World};
use crate::capabilities::Guest;

/// Calls that one kept instance serves before a fresh one takes over: a leak in a guest stays small.
const CALLS_PER_KEPT_INSTANCE: u32 = 1000;

/// An instance that has served calls and may serve more.
pub struct Kept<W> {
    /// Its store.
    pub store: Store<Guest>,
    /// Its exports.
    pub instance: W,
    calls: u32,
}

impl<W> Kept<W> {
    /// A fresh instance.
    pub const fn new(store: Store<Guest>, instance: W) -> Self {
        Self { store, instance, calls: 0 }
    }
}

/// Idle instances of a slot, whatever their version: together with the running calls never more than the slot has
/// places, for so many the instance pool holds for it.
pub(super) struct KeptPool<W>(Mutex<Vec<(u64, Kept<W>)>>);

impl<W> Default for KeptPool<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W: World> KeptPool<W> {
    /// The idle instance of `version` that was used last. Where there is none and `room` says that idle and running
    /// ones fill all places, the oldest of another version makes room for a fresh one.
    pub(super) fn take(&self, version: &Version<W>, room: impl FnOnce(usize) -> bool) -> Option<Kept<W>> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = idle.iter().rposition(|(serial, _)| *serial == version.serial) {
            return Some(idle.remove(last).1);
        }
        let evicted = (!idle.is_empty() && !room(idle.len())).then(|| idle.remove(0));
        drop(idle);
        // Not under the lock: dropping an instance takes a while.
        drop(evicted);
        None
    }

    /// Keeps an instance whose call ended well, until it has served its share or its version is retired.
    pub(super) fn keep(&self, version: &Version<W>, mut kept: Kept<W>) {
        kept.calls += 1;
        if kept.calls < CALLS_PER_KEPT_INSTANCE {
            let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !version.is_retired() {
                idle.push((version.serial, kept));
            }
        }
    }

    /// Drops the idle instances of `version` and keeps no further ones.
    pub(super) fn retire(&self, version: &Version<W>) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        version.retire();
        let gone: Vec<_> = idle.extract_if(.., |(serial, _)| *serial == version.serial).collect();
        drop(idle);
        drop(gone);
    }
}
