//! A version: a component that passed the checks of its slot, linked and ready to be called.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use bulkhead_config::slots::SlotSettings as Settings;
use bulkhead_telemetry::VersionLabels;
use tokio::sync::oneshot;

use super::{CircuitBreaker, PreflightError, Tally, VersionId, World, late_free::FreedLate, revision};
use crate::compile::{CompileError, ComponentDigest};

/// The serial number of the next version of this process.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// The error of a component that cannot be loaded into a slot.
#[derive(Debug, thiserror::Error)]
pub enum VersionLoadError {
    /// The preflight check refused it.
    #[error(transparent)]
    Refused(#[from] PreflightError),
    /// It was not compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Its imports or exports have the right names and the wrong types.
    #[error("the component does not fit {world}: {error:#}; build it against the WIT of this host")]
    Types {
        /// The slot's world.
        world: &'static str,
        /// wasmtime's error.
        error: wasmtime::Error,
    },
}

/// A component that has passed every check of its slot.
pub struct Version<W: World> {
    /// The digest of its component.
    pub digest: ComponentDigest,
    /// Its id as text, for log lines.
    pub id: Arc<str>,
    /// The source of its component, such as a path or an operator.
    pub source: String,
    /// The slot's settings when it was created.
    pub settings: Arc<Settings>,
    /// The linked component, instantiated for every call.
    pub linked: FreedLate<W::Linked>,
    /// Counts of its calls by result.
    pub tally: Tally,
    /// The circuit breaker of its calls.
    pub circuit: CircuitBreaker,
    pub(super) serial: u64,
    retired: AtomicBool,
    /// Dropped with the last reference, which completes [`Version::freed`].
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
            linked: FreedLate::new(linked),
            tally: Tally::default(),
            circuit: CircuitBreaker::new(settings.rollout.circuit_failures),
            settings,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            retired: AtomicBool::new(false),
            _alive: alive,
            freed: Mutex::new(Some(freed)),
        }
    }

    /// Returns a version with the same code and settings, and with fresh counts and a closed circuit. It is neither
    /// compiled nor loaded again.
    pub fn fresh_copy(&self) -> Arc<Self> {
        let (linked, settings) = (W::Linked::clone(&self.linked), Arc::clone(&self.settings));
        Arc::new(Self::new(self.digest, &self.source, linked, settings))
    }

    /// Returns its serial number, which no other version of this process has.
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

    /// Completes once nothing refers to the version any more: its last call is over, and its code is freed shortly
    /// after, unless a fresh copy uses it. A second future completes at once.
    pub fn freed(&self) -> impl Future<Output = ()> + Send + 'static {
        let freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            if let Some(freed) = freed {
                // The error is expected: the sender was dropped.
                let _ = freed.await;
            }
        }
    }
}
