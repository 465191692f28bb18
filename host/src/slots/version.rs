use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::Store;

use super::World;
use crate::{capabilities::Guest, compile::ComponentDigest};

/// Calls that one kept instance serves before a fresh one takes over: a leak in a guest stays small.
const CALLS_PER_KEPT_INSTANCE: u32 = 1000;

/// A component that has passed every check of its slot.
pub struct Version<W: World> {
    /// Its name.
    pub digest: ComponentDigest,
    /// The digest's first characters, for log lines.
    pub label: Arc<str>,
    /// Where it came from.
    pub source: String,
    /// Linked once, instantiated for every call.
    pub linked: W::Linked,
    kept: Mutex<Vec<Kept<W>>>,
}

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

impl<W: World> Version<W> {
    pub(super) fn new(digest: ComponentDigest, source: &str, linked: W::Linked) -> Self {
        let label = digest.to_string().chars().skip("sha256:".len()).take(12).collect::<String>().into();
        Self { digest, label, source: source.to_owned(), linked, kept: Mutex::default() }
    }

    /// A kept instance, where the slot keeps them and one is idle.
    pub fn take_kept(&self) -> Option<Kept<W>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps an instance whose call ended well, until it has served its share.
    pub fn keep(&self, mut kept: Kept<W>) {
        kept.calls += 1;
        if kept.calls < CALLS_PER_KEPT_INSTANCE {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        }
    }
}
