//! The registry of a host's deployments, and the operations that each of them offers.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use bulkhead_config::slots::{Slot as Settings, SlotId};
use bulkhead_runtime::capabilities::LogLine;
use futures_util::future::BoxFuture;

use super::{
    AuditEntry, Change, DeployError, Expected, Exported, LocalStore, LocalStoreError, PreparedChange, Proof,
    Pushed, ShadowView, SharedState, SharedView, SlotView, Stage, VersionDiff, VersionRecord,
};

/// Receives each stage of a push.
pub type StageReporter = Arc<dyn Fn(Stage) + Send + Sync>;

/// What operators can do with a slot, whatever its world.
pub trait Deploy: Send + Sync + 'static {
    /// Returns the slot's id.
    fn slot(&self) -> SlotId;

    /// Returns what the slot does now.
    fn view(&self) -> SlotView;

    /// Returns how the slot compares with the shared state, if hosts share it.
    fn shared(&self) -> Option<SharedView>;

    /// Returns the findings of the candidate in shadow, if there is one.
    fn shadow(&self) -> Option<ShadowView>;

    /// Returns every remembered version, the oldest first.
    fn history(&self) -> Vec<VersionRecord>;

    /// Compares two remembered versions.
    fn diff(self: Arc<Self>, a: String, b: String) -> BoxFuture<'static, Result<VersionDiff, DeployError>>;

    /// Compiles the version that a rollback returns to, unless the cache has it.
    fn precompile(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Prepares the version that other settings lead to; nothing changes until it is applied.
    fn dry_run(
        self: Arc<Self>,
        settings: Settings,
    ) -> BoxFuture<'static, Result<Box<dyn PreparedChange>, DeployError>>;

    /// Returns the settings of versions that are created now.
    fn settings(&self) -> Arc<Settings>;

    /// Returns why no version answers.
    fn empty_reason(&self) -> Option<String>;

    /// Returns why the configured file is unusable while a stored copy of it answers.
    fn file_fault(&self) -> Option<String>;

    /// Returns why the current state is not on disk, if it is not.
    fn unsaved_reason(&self) -> Option<String>;

    /// Returns why a version answers in place of the active one, if one does.
    fn uncompiled_reason(&self) -> Option<String>;

    /// Loads the version that a rollback returns to after a start, if the active one is still monitored.
    fn hold_predecessor(&self);

    /// Returns the last `limit` lines of the slot's log, the oldest first.
    fn logs(&self, limit: usize) -> Vec<LogLine>;

    /// Prepares a component up to its trial and reports each stage that it passes, or its refusal.
    fn push(
        self: Arc<Self>,
        wasm: Arc<[u8]>,
        source: String,
        proof: Proof,
        actor: String,
        report: StageReporter,
    ) -> BoxFuture<'static, Result<Pushed, DeployError>>;

    /// Returns the bytes of a remembered version or of the component that is part of the binary.
    fn export(self: Arc<Self>, name: String) -> BoxFuture<'static, Result<Exported, DeployError>>;

    /// Changes which versions answer.
    fn change(
        self: Arc<Self>,
        change: Change,
        expected: Expected,
    ) -> BoxFuture<'static, Result<SlotView, DeployError>>;
}

/// The deployments of a host, one a slot, for its operators.
pub struct DeploymentRegistry {
    store: Arc<LocalStore>,
    shared: Option<Arc<SharedState>>,
    /// Slots that may be added, in the order of lists.
    expected: Vec<SlotId>,
    slots: RwLock<Vec<Arc<dyn Deploy>>>,
    is_complete: AtomicBool,
}

impl std::fmt::Debug for DeploymentRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeploymentRegistry").field("store", &self.store).finish_non_exhaustive()
    }
}

impl DeploymentRegistry {
    /// Returns an empty registry over a local store and, if hosts share it, the shared state.
    pub fn new(store: Arc<LocalStore>, shared: Option<Arc<SharedState>>) -> Self {
        Self {
            store,
            shared,
            expected: Vec::new(),
            slots: RwLock::default(),
            is_complete: AtomicBool::new(false),
        }
    }

    /// Sets the slots that may be added, in the order of lists.
    pub fn with_expected(self, slots: impl IntoIterator<Item = SlotId>) -> Self {
        Self { expected: slots.into_iter().collect(), ..self }
    }

    /// Returns the state that hosts share, if they do.
    pub const fn shared(&self) -> Option<&Arc<SharedState>> {
        self.shared.as_ref()
    }

    /// Returns the store of components and slot states.
    pub const fn store(&self) -> &Arc<LocalStore> {
        &self.store
    }

    /// Adds a slot, in place of one with the same id.
    pub fn add(&self, slot: Arc<dyn Deploy>) {
        let position = |slot: &Arc<dyn Deploy>| {
            let id = slot.slot();
            self.expected.iter().position(|expected| *expected == id).unwrap_or(usize::MAX)
        };
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|known| known.slot() != slot.slot());
        slots.push(slot);
        slots.sort_by_key(position);
    }

    /// Declares that no further slot will be added.
    pub fn mark_complete(&self) {
        self.is_complete.store(true, Ordering::Release);
    }

    /// Returns whether every slot has been added, which takes until the host has started.
    pub fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    /// Returns whether a slot of this name has not been added yet and may still be.
    pub fn is_pending(&self, name: &str) -> bool {
        !self.is_complete() && self.expected.iter().any(|slot| slot.as_str() == name)
    }

    /// Returns a slot by its name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Deploy>> {
        self.all().into_iter().find(|slot| slot.slot().as_str() == name)
    }

    /// Returns every slot.
    pub fn all(&self) -> Vec<Arc<dyn Deploy>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Appends a line about a rejected request to the audit log.
    ///
    /// # Errors
    /// When it cannot be written to disk.
    pub fn record_refusal(&self, entry: AuditEntry) -> Result<(), LocalStoreError> {
        self.store.append_host_entry(entry)
    }

    /// Returns the last `limit` lines of one slot, of the configuration ([`super::CONFIGURATION`]), of rejected
    /// requests ([`super::ACCESS`]) or of all.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn audit(&self, slot: Option<&str>, limit: usize) -> Result<Vec<AuditEntry>, LocalStoreError> {
        self.store.audit_of(slot, limit)
    }
}
