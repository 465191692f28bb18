use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use futures_util::future::BoxFuture;

use super::{
    Change, DeployError, Entry, Expected, Exported, Proof, Pushed, Record, Rehearsed, ShadowView, Shared,
    SharedView, SlotView, Stage, Vault, VaultError, VersionDiff,
};
use crate::{
    capabilities::LogLine,
    config::slots::{Slot as Settings, SlotId},
};

/// Is called with each stage of a push.
pub type Report = Arc<dyn Fn(Stage) + Send + Sync>;

/// A slot as operators see it, whatever its world.
pub trait Deploy: Send + Sync + 'static {
    /// Which slot.
    fn slot(&self) -> SlotId;

    /// What it does now.
    fn view(&self) -> SlotView;

    /// Where it stands beside other hosts, where these share their state.
    fn shared(&self) -> Option<SharedView>;

    /// What came of the copies of calls for the candidate in shadow, if there is one.
    fn shadow(&self) -> Option<ShadowView>;

    /// Every version that is remembered, the oldest first.
    fn history(&self) -> Vec<Record>;

    /// In what two versions that are remembered differ.
    fn diff(self: Arc<Self>, a: String, b: String) -> BoxFuture<'static, Result<VersionDiff, DeployError>>;

    /// Compiles what a rollback goes back to, where the cache does not have it.
    fn precompile(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Makes ready what other settings mean for the slot; nothing changes before it is performed.
    fn rehearse(
        self: Arc<Self>,
        settings: Settings,
    ) -> BoxFuture<'static, Result<Box<dyn Rehearsed>, DeployError>>;

    /// What versions are given that are made now.
    fn settings(&self) -> Arc<Settings>;

    /// Why nothing answers.
    fn why_empty(&self) -> Option<String>;

    /// Why the configured file is of no use, while a kept copy of it answers.
    fn file_fault(&self) -> Option<String>;

    /// Why what it does now is not on disk, while it is not.
    fn unwritten(&self) -> Option<String>;

    /// Why another version answers than should, while one does.
    fn why_uncompiled(&self) -> Option<String>;

    /// After the start of the host: loads the version that a rollback goes back to, where the active one is watched still.
    fn hold_predecessor(&self);

    /// The last `limit` lines of its log, the oldest first.
    fn logs(&self, limit: usize) -> Vec<LogLine>;

    /// Takes a component up to its trial and reports each stage that it has passed, or that it was refused.
    fn push(
        self: Arc<Self>,
        wasm: Arc<[u8]>,
        source: String,
        proof: Proof,
        actor: String,
        report: Report,
    ) -> BoxFuture<'static, Result<Pushed, DeployError>>;

    /// The bytes of a version that is remembered, or of the component that is part of the binary.
    fn export(self: Arc<Self>, name: String) -> BoxFuture<'static, Result<Exported, DeployError>>;

    /// Changes what answers.
    fn change(
        self: Arc<Self>,
        change: Change,
        expected: Expected,
    ) -> BoxFuture<'static, Result<SlotView, DeployError>>;
}

/// The slots of a host, for its operators.
pub struct Roster {
    vault: Arc<Vault>,
    shared: Option<Arc<Shared>>,
    /// Slots that may come, in the order of lists.
    expected: Vec<SlotId>,
    slots: RwLock<Vec<Arc<dyn Deploy>>>,
    is_complete: AtomicBool,
}

impl std::fmt::Debug for Roster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roster").field("vault", &self.vault).finish_non_exhaustive()
    }
}

impl Roster {
    /// No slots yet, over a vault and, where hosts share one, a state.
    pub fn new(vault: Arc<Vault>, shared: Option<Arc<Shared>>) -> Self {
        Self {
            vault,
            shared,
            expected: Vec::new(),
            slots: RwLock::default(),
            is_complete: AtomicBool::new(false),
        }
    }

    /// The same where these slots may come. Lists are in their order.
    pub fn expecting(self, slots: impl IntoIterator<Item = SlotId>) -> Self {
        Self { expected: slots.into_iter().collect(), ..self }
    }

    /// What hosts share, where they do.
    pub const fn shared(&self) -> Option<&Arc<Shared>> {
        self.shared.as_ref()
    }

    /// Where components and books are kept.
    pub const fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    /// Adds a slot.
    pub fn add(&self, slot: Arc<dyn Deploy>) {
        let place = |slot: &Arc<dyn Deploy>| {
            let id = slot.slot();
            self.expected.iter().position(|expected| *expected == id).unwrap_or(usize::MAX)
        };
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|known| known.slot() != slot.slot());
        slots.push(slot);
        slots.sort_by_key(place);
    }

    /// No further slot comes.
    pub fn complete(&self) {
        self.is_complete.store(true, Ordering::Release);
    }

    /// Whether every slot that there will be is there: not while the host starts.
    pub fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    /// Returns whether a slot of this name is not there yet and may still come.
    pub fn may_come(&self, name: &str) -> bool {
        !self.is_complete() && self.expected.iter().any(|slot| slot.as_str() == name)
    }

    /// A slot by its name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Deploy>> {
        self.each().into_iter().find(|slot| slot.slot().as_str() == name)
    }

    /// Every slot.
    pub fn each(&self) -> Vec<Arc<dyn Deploy>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a line about an attempt that was refused to the audit log.
    ///
    /// # Errors
    /// When it is not safely on disk.
    pub fn note_refusal(&self, entry: Entry) -> Result<(), VaultError> {
        self.vault.note_configuration(entry)
    }

    /// The last `limit` lines: of one slot, of the configuration ([`super::CONFIGURATION`]), of refused attempts
    /// ([`super::ACCESS`]) or all.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn audit(&self, slot: Option<&str>, limit: usize) -> Result<Vec<Entry>, VaultError> {
        self.vault.audit_of(slot, limit)
    }
}
