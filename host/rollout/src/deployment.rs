//! The deployment of one slot: its state, its versions, and the operations on them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak, atomic::AtomicBool},
    time::Duration,
};

use bulkhead_config::slots::{Slot as Settings, SlotId};
use bulkhead_runtime::background;
use bulkhead_runtime::capabilities::LogLine;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::invoke;
use bulkhead_runtime::slots::{LoadError, Slot, Version, World, revision};
use futures_util::future::BoxFuture;
use tokio::{
    sync::{Mutex as AsyncMutex, MutexGuard, Notify},
    task::{AbortHandle, JoinSet},
};

use super::{
    Change, Deploy, DeployError, Expected, Exported, HOST, LocalStore, Move, PreparedChange, Proof, Pushed,
    ShadowView, SharedState, SharedView, SlotState, SlotView, Stage, StageReporter, VersionDiff, VersionId,
    VersionRecord,
    changes::ChangeScope,
    pending_write::PendingWrite,
    predecessor::HeldPredecessor,
    restore::ConfiguredComponent,
    rollback_monitor::MonitoredVersion,
    shared::ReplicationStatus,
    signature,
    state::Blob,
    uncompiled::{self, CompileFallback, PrepareError},
};

/// The record of a version and its loaded code.
pub(super) type LoadedVersion<W> = (VersionRecord, Arc<Version<W>>);

/// A component whose digest and signature have been checked.
pub(super) struct IdentifiedComponent {
    pub(super) record: VersionRecord,
    /// Why its signature does not allow it to answer.
    pub(super) signer: Result<(), String>,
    /// The bytes and signature to store.
    pub(super) blob: Blob,
}

/// A slot and the operations that change its versions.
pub struct Deployment<W: World> {
    pub(super) slot: Arc<Slot<W>>,
    pub(super) store: Arc<LocalStore>,
    /// Held while the state changes.
    change_lock: AsyncMutex<()>,
    state: Mutex<Arc<SlotState>>,
    pub(super) empty_reason: Mutex<Option<String>>,
    /// Why the configured file was unusable when it was last read.
    pub(super) file_fault: Mutex<Option<String>>,
    /// Set while a substitute answers for the active version, or for the configured component.
    pub(super) uncompiled: Mutex<Option<CompileFallback>>,
    /// The candidate that was not compiled at the start, and why.
    pub(super) uncompiled_candidate: Mutex<Option<(VersionId, String)>>,
    /// The configured component, if it was not compiled when it was last loaded.
    pub(super) uncompiled_configured: Mutex<Option<ConfiguredComponent>>,
    /// Pause before any of these is compiled again; it doubles with every attempt.
    pub(super) compile_pause: Duration,
    pub(super) monitored: Mutex<Option<MonitoredVersion<W>>>,
    /// The loaded code of the version that a rollback returns to.
    pub(super) held: Mutex<Option<HeldPredecessor<W>>>,
    /// Set while the state in memory is newer than the one on disk.
    pub(super) pending_write: Mutex<Option<PendingWrite>>,
    /// A task is retrying that write.
    pub(super) is_retrying: AtomicBool,
    /// Wakes that task.
    pub(super) retry: Arc<Notify>,
    /// Settings of this host's versions by their revision, so that a rollback restores the settings of its version.
    pub(super) revisions: Mutex<BTreeMap<String, Arc<Settings>>>,
    /// The configured component, stored with the first change.
    pub(super) configured_blob: Mutex<Option<Blob>>,
    /// The state that hosts share, if they do.
    pub(super) shared: Option<Arc<SharedState>>,
    /// How far this host has applied the shared state.
    pub(super) replication: Mutex<ReplicationStatus>,
    /// Held while the shared state is applied.
    pub(super) sync_lock: AsyncMutex<()>,
    /// Components from the hosts' database that are not in the local store yet.
    pub(super) fetched_blobs: Mutex<Vec<Blob>>,
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
        Self::with_compile_pause(slot, store, shared, uncompiled::FIRST_RETRY)
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
            state: Mutex::default(),
            empty_reason: Mutex::default(),
            file_fault: Mutex::default(),
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

    pub(super) fn state(&self) -> Arc<SlotState> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_state(&self, state: SlotState) {
        self.keep_compiled(&state);
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    pub(super) async fn lock(&self) -> MutexGuard<'_, ()> {
        self.change_lock.lock().await
    }

    /// Runs `task` until it ends or the deployment is dropped.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }

    pub(super) fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.own)
    }

    /// Checks, compiles, links and tries a component under `settings`, and reports each stage that it passes.
    pub(super) async fn prepare(
        &self,
        wasm: Arc<[u8]>,
        source: &str,
        settings: Arc<Settings>,
        mut passed: impl FnMut(Stage),
    ) -> Result<Arc<Version<W>>, PrepareError> {
        let failed = |error: LoadError| {
            let is_passing = matches!(&error, LoadError::Compile(error) if !error.is_refusal());
            let reason = format!("{:#}", anyhow::Error::from(error));
            if is_passing { PrepareError::Uncompiled(reason) } else { PrepareError::Refused(reason) }
        };
        let digest = self.slot.check(Arc::clone(&wasm), &settings).await.map_err(failed)?;
        passed(Stage::Checked);
        let version = self.slot.compile(wasm, digest, source, settings).await.map_err(failed)?;
        passed(Stage::Compiled);
        let trial = invoke::run_self_test(&self.slot, &version).await;
        trial.map_err(|word| format!("the component's self-test failed: {word}"))?;
        passed(Stage::Trialled);
        Ok(version)
    }

    /// Returns the settings of a revision that this host has had, or else the current ones.
    fn settings_of(&self, revision: &str) -> Arc<Settings> {
        let revisions = self.revisions.lock().unwrap_or_else(PoisonError::into_inner);
        revisions.get(revision).cloned().unwrap_or_else(|| self.slot.settings())
    }

    /// Prepares a remembered version to answer again, under its own settings if they are known.
    pub(super) async fn revive(&self, record: &VersionRecord) -> Result<Arc<Version<W>>, DeployError> {
        self.check_signature(record).await?;
        let wasm = self.component(record).await?;
        self.prepare(wasm, &record.source, self.settings_of(&record.revision), |_| {})
            .await
            .map_err(|error| error.into_deploy_error(&record.id))
    }

    /// Returns the bytes of a version's component.
    pub(super) async fn component(&self, record: &VersionRecord) -> Result<Arc<[u8]>, DeployError> {
        let configured_blob = self.configured_blob.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(blob) = configured_blob.filter(|blob| blob.component == record.component) {
            return Ok(blob.wasm);
        }
        let (store, slot, component) = (Arc::clone(&self.store), self.slot.name(), record.component.clone());
        let cap = self.slot.context.sandbox.component_bytes;
        let read = move || store.component(slot, &component, cap);
        let kept = background::run(read).await.map_err(|_| DeployError::Stopping)?;
        match (kept, &self.shared) {
            (Err(_), Some(shared)) => {
                let blob = self.fetch(shared, record).await?;
                let wasm = Arc::clone(&blob.wasm);
                self.fetched_blobs.lock().unwrap_or_else(PoisonError::into_inner).push(blob);
                Ok(wasm)
            }
            (kept, _) => Ok(kept?),
        }
    }

    /// Waits in the background for the last call of a version that no longer answers, and then retires it. The
    /// copy that is held for a rollback has answered no call.
    pub(super) fn drain(&self, version: Arc<Version<W>>, id: VersionId) {
        let freed = version.freed();
        drop(version);
        let deployment = self.weak();
        self.spawn(async move {
            freed.await;
            if let Some(deployment) = deployment.upgrade() {
                deployment.retire(&id).await;
            }
        });
    }

    async fn retire(&self, id: &VersionId) {
        let guard = self.lock().await;
        if self.state().get(id).is_none_or(|record| record.stage() != Stage::Draining) {
            return;
        }
        let reason = match self.held(id) {
            Some(_) => "its last call has ended; its code stays loaded while its successor is monitored",
            None => "its last call has ended and its code is freed",
        };
        // The same move for both attempts to write it.
        let retired = Move::now(Stage::Retired, HOST, reason);
        let retire = |state: &mut SlotState| state.add_move(id, retired.clone());
        let (slot, version) = (self.slot.name().as_str(), id.as_str());
        if let Err(error) = self.commit(&guard, None, ChangeScope::LocalThenPublish, retire).await {
            tracing::warn!(slot, version, %error, "the retirement is not written to disk; it is retried");
            // The version has retired even if that cannot be written.
            let _ = self.commit_in_memory(&guard, ChangeScope::LocalThenPublish, retire, || {}).await;
        }
    }

    /// Identifies a component: its version under `settings`, and whether its signature allows it to answer.
    pub(super) async fn identify(
        &self,
        wasm: Arc<[u8]>,
        source: &str,
        proof: Proof,
        settings: &Settings,
    ) -> Result<IdentifiedComponent, DeployError> {
        let (signatures, hashed, slot) = (settings.signatures.clone(), Arc::clone(&wasm), self.slot.name());
        let store = Arc::clone(&self.store);
        let look = move || {
            let digest = ComponentDigest::of(&hashed);
            let proof = proof.or_built_in(&store, slot, digest);
            (digest, signature::verify(&signatures, &hashed, &proof), proof.signature())
        };
        let looked = background::run(look).await;
        let (digest, signer, signature) = looked.map_err(|_| DeployError::Stopping)?;
        let mut record = VersionRecord::new(digest, wasm.len(), source, settings);
        if let Ok(Some(signed)) = &signer {
            (record.signed_by, record.signed_at) = (Some(signed.by.clone()), signed.at);
        }
        let blob = Blob { component: record.component.clone(), wasm, signature };
        Ok(IdentifiedComponent { record, signer: signer.map(drop), blob })
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
}
