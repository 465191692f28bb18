use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tokio::sync::oneshot;

use super::{Circuit, Tally, VersionId, World, revision};
use crate::{compile::ComponentDigest, config::slots::Slot as Settings, telemetry::VersionLabels};

/// Tells versions of one component apart.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A component that has passed every check of its slot.
pub struct Version<W: World> {
    /// Its component.
    pub digest: ComponentDigest,
    /// Its identity as text, for log lines.
    pub id: Arc<str>,
    /// Where it came from.
    pub source: String,
    /// What it is given: the slot's settings when it was made.
    pub settings: Arc<Settings>,
    /// Linked once, instantiated for every call.
    pub linked: W::Linked,
    /// How its calls ended.
    pub tally: Tally,
    /// Keeps calls from a version that only fails.
    pub circuit: Circuit,
    pub(super) serial: u64,
    retired: AtomicBool,
    /// Dropped with the last reference, which tells [`Version::freed`].
    _alive: oneshot::Sender<()>,
    freed: Mutex<Option<oneshot::Receiver<()>>>,
}

impl<W: World> Version<W> {
    pub(super) fn new(
        digest: ComponentDigest,
        source: &str,
        linked: W::Linked,
        settings: Arc<Settings>,
    ) -> Self {
        let id = VersionId::new(digest, &revision(&settings)).as_str().into();
        let (alive, freed) = oneshot::channel();
        Self {
            digest,
            id,
            source: source.to_owned(),
            linked,
            tally: Tally::default(),
            circuit: Circuit::new(settings.rollout.circuit_failures),
            settings,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            retired: AtomicBool::new(false),
            _alive: alive,
            freed: Mutex::new(Some(freed)),
        }
    }

    /// The same code under the same settings, which no call has run yet: it answers without being compiled or loaded.
    pub fn twin(&self) -> Arc<Self> {
        let (linked, settings) = (self.linked.clone(), Arc::clone(&self.settings));
        Arc::new(Self::new(self.digest, &self.source, linked, settings))
    }

    /// Tells it from every other version of this host, the same component under other settings among them.
    pub const fn serial(&self) -> u64 {
        self.serial
    }

    pub(super) fn labels(&self) -> VersionLabels {
        let component = self.digest.to_string();
        VersionLabels { version: self.id.to_string(), component, source: self.source.clone() }
    }

    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Ends once nothing refers to the version any more: its last call is over, and its code is freed unless a twin has
    /// it. Asked for a second time, it ends at once.
    pub fn freed(&self) -> impl Future<Output = ()> + Send + 'static {
        let freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            if let Some(freed) = freed {
                // An error is the point: the sender is gone.
                let _ = freed.await;
            }
        }
    }
}
