//! The deployment of one slot: its versions, their state, and the operations on them.

mod changes;
mod commit;
mod component;
mod configured;
mod dry_run;
mod folder_watch;
mod prepare;
mod push;
mod removal;
mod rollback;
mod start;
mod switch;
mod sync;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak, atomic::AtomicBool},
    time::Duration,
};

use bulkhead_config::slots::{SlotId, SlotSettings as Settings};
use bulkhead_runtime::capabilities::LogLine;
use bulkhead_runtime::slots::{Slot, World, revision};
use futures_util::future::BoxFuture;
use tokio::{
    sync::{Mutex as AsyncMutex, MutexGuard, Notify},
    task::{AbortHandle, JoinSet},
};

use self::{
    commit::PendingWrite,
    configured::ConfiguredComponent,
    rollback::{HeldPredecessor, MonitoredVersion},
    start::{CompileFallback, FIRST_RETRY},
};
use super::{
    Change, Deploy, DeployError, Expected, Exported, LocalStore, PreparedChange, Proof, Pushed, ShadowView,
    SharedState, SharedView, SlotState, SlotView, StageReporter, VersionDiff, VersionId, VersionRecord,
    shared::ReplicationStatus, state::Blob,
};

pub use self::configured::read_configured;

/// A slot and the operations that change its versions.
pub struct Deployment<W: World> {
    slot: Arc<Slot<W>>,
    store: Arc<LocalStore>,
    /// Held while the state changes.
    change_lock: AsyncMutex<()>,
    /// Set under that lock once the slot is removed: the state does not change any more.
    is_removed: AtomicBool,
    state: Mutex<Arc<SlotState>>,
    empty_reason: Mutex<Option<String>>,
    /// Why the configured file was unusable when it was last read.
    file_fault: Mutex<Option<String>>,
    /// The version that has answered since the start in place of the last one, and why.
    fallback: Mutex<Option<(VersionId, String)>>,
    /// Set while a substitute answers for the active version, or for the configured component.
    uncompiled: Mutex<Option<CompileFallback>>,
    /// The candidate that was not compiled at the start, and why.
    uncompiled_candidate: Mutex<Option<(VersionId, String)>>,
    /// The configured component, if it was not compiled when it was last loaded.
    uncompiled_configured: Mutex<Option<ConfiguredComponent>>,
    /// Pause before any of these is compiled again; it doubles with every attempt.
    compile_pause: Duration,
    monitored: Mutex<Option<MonitoredVersion<W>>>,
    /// The loaded code of the version that a rollback returns to.
    held: Mutex<Option<HeldPredecessor<W>>>,
    /// Set while the state in memory is newer than the one on disk.
    pending_write: Mutex<Option<PendingWrite>>,
    /// A task is retrying that write.
    is_retrying: AtomicBool,
    /// Wakes that task.
    retry: Arc<Notify>,
    /// Settings of this host's versions by their revision, so that a rollback restores the settings of its version.
    revisions: Mutex<BTreeMap<String, Arc<Settings>>>,
    /// The configured component, stored with the first change.
    configured_blob: Mutex<Option<Blob>>,
    /// The state that hosts share, if they do.
    shared: Option<Arc<SharedState>>,
    /// How far this host has applied the shared state.
    replication: Mutex<ReplicationStatus>,
    /// Held while the shared state is applied.
    sync_lock: AsyncMutex<()>,
    /// Components from the shared database that are not in the local store yet.
    fetched_blobs: Mutex<Vec<Blob>>,
    tasks: Mutex<JoinSet<()>>,
    own: Weak<Self>,
}

impl<W: World> std::fmt::Debug for Deployment<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deployment").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<W: World> Deployment<W> {
    /// Returns a deployment without versions. With `shared` it applies the changes of other hosts.
    pub fn new(slot: Arc<Slot<W>>, store: Arc<LocalStore>, shared: Option<Arc<SharedState>>) -> Arc<Self> {
        Self::with_compile_pause(slot, store, shared, FIRST_RETRY)
    }

    /// Returns a deployment with another pause before a component is compiled again.
    pub(super) fn with_compile_pause(
        slot: Arc<Slot<W>>,
        store: Arc<LocalStore>,
        shared: Option<Arc<SharedState>>,
        compile_pause: Duration,
    ) -> Arc<Self> {
        let settings = slot.settings();
        let revisions = BTreeMap::from([(revision(&settings), settings)]);
        Arc::new_cyclic(|own| Self {
            revisions: Mutex::new(revisions),
            slot,
            store,
            change_lock: AsyncMutex::default(),
            is_removed: AtomicBool::new(false),
            state: Mutex::default(),
            empty_reason: Mutex::default(),
            file_fault: Mutex::default(),
            fallback: Mutex::default(),
            uncompiled: Mutex::default(),
            uncompiled_candidate: Mutex::default(),
            uncompiled_configured: Mutex::default(),
            compile_pause,
            monitored: Mutex::default(),
            held: Mutex::default(),
            pending_write: Mutex::default(),
            is_retrying: AtomicBool::new(false),
            retry: Arc::default(),
            configured_blob: Mutex::default(),
            shared,
            replication: Mutex::default(),
            sync_lock: AsyncMutex::default(),
            fetched_blobs: Mutex::default(),
            tasks: Mutex::default(),
            own: Weak::clone(own),
        })
    }

    fn state(&self) -> Arc<SlotState> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_state(&self, state: SlotState) {
        self.keep_compiled(&state);
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// Returns the remembered version that `name` matches.
    fn find_version(&self, name: &str) -> Result<VersionRecord, DeployError> {
        let unknown = || DeployError::UnknownVersion {
            slot: self.slot.name().as_str(),
            name: bulkhead_telemetry::quoted(name),
        };
        self.state().find(name).cloned().ok_or_else(unknown)
    }

    async fn lock(&self) -> MutexGuard<'_, ()> {
        self.change_lock.lock().await
    }

    /// Runs `task` until it ends or the deployment is dropped.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }

    fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.own)
    }
}

impl<W: World> Deploy for Deployment<W> {
    fn slot(&self) -> SlotId {
        self.slot.name()
    }

    fn view(&self) -> SlotView {
        let mut state = SlotState::clone(&self.state());
        state.active = self.answering_id(&state);
        SlotView::new(&self.slot, &state, self.empty_reason(), self.unsaved_reason(), self.shared_view())
    }

    fn unsaved_reason(&self) -> Option<String> {
        self.unsaved_reason()
    }

    fn fallback_reason(&self) -> Option<String> {
        self.fallback_reason()
    }

    fn file_fault(&self) -> Option<String> {
        self.file_fault()
    }

    fn uncompiled_reason(&self) -> Option<String> {
        self.uncompiled_reason()
    }

    fn hold_predecessor(&self) {
        self.hold_after_start();
    }

    fn shared(&self) -> Option<SharedView> {
        self.shared_view()
    }

    fn shadow(&self) -> Option<ShadowView> {
        ShadowView::new(&self.slot, &self.state())
    }

    fn history(&self) -> Vec<VersionRecord> {
        self.state().versions.clone()
    }

    fn diff(self: Arc<Self>, a: String, b: String) -> BoxFuture<'static, Result<VersionDiff, DeployError>> {
        Box::pin(async move { self.compare_versions(&a, &b).await })
    }

    fn precompile(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.precompile_predecessor().await })
    }

    fn dry_run(
        self: Arc<Self>,
        settings: Settings,
    ) -> BoxFuture<'static, Result<Box<dyn PreparedChange>, DeployError>> {
        Box::pin(
            async move { Ok(Box::new(self.prepare_settings(settings).await?) as Box<dyn PreparedChange>) },
        )
    }

    fn settings(&self) -> Arc<Settings> {
        self.slot.settings()
    }

    fn longest_call(&self) -> Duration {
        let revisions = self.revisions.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = revisions.values().map(|settings| settings.limits.queue_wait + settings.limits.deadline);
        calls.max().unwrap_or_default()
    }

    fn empty_reason(&self) -> Option<String> {
        self.empty_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn logs(&self, limit: usize) -> Vec<LogLine> {
        self.slot.resources.recent.last(limit)
    }

    fn push(
        self: Arc<Self>,
        wasm: Arc<[u8]>,
        source: String,
        proof: Proof,
        actor: String,
        report: StageReporter,
    ) -> BoxFuture<'static, Result<Pushed, DeployError>> {
        Box::pin(async move { self.ingest(wasm, &source, proof, &actor, &*report).await })
    }

    fn export(self: Arc<Self>, name: String) -> BoxFuture<'static, Result<Exported, DeployError>> {
        Box::pin(async move { self.export_version(&name).await })
    }

    fn change(
        self: Arc<Self>,
        change: Change,
        expected: Expected,
    ) -> BoxFuture<'static, Result<SlotView, DeployError>> {
        Box::pin(async move {
            self.apply(&change, &expected).await?;
            self.slot.metrics.rollout(change.as_str());
            Ok(self.view())
        })
    }

    fn stop(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.close().await })
    }
}
