use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak, atomic::AtomicBool},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{Mutex as Turns, MutexGuard, Notify},
    task::{AbortHandle, JoinSet},
};

use super::{
    Book, Change, Deploy, DeployError, Expected, Exported, HOST, Move, Proof, Pushed, Record, Rehearsed,
    Report, ShadowView, Shared, SharedView, SlotView, Stage, Vault, VersionDiff, VersionId,
    changes::Reach,
    predecessor::Held,
    restore::Named,
    shared::Standing,
    signature,
    uncompiled::{self, Uncompiled, Unprepared},
    unwritten::Unwritten,
    vault::Blob,
    watch::Watched,
};
use crate::{
    background,
    capabilities::LogLine,
    compile::ComponentDigest,
    config::slots::{Slot as Settings, SlotId},
    invoke,
    slots::{LoadError, Slot, Version, World, revision},
};

/// A component that has been looked at.
pub(super) struct Identified {
    pub(super) record: Record,
    /// Why its signature does not let it answer.
    pub(super) signer: Result<(), String>,
    /// What the vault needs of it.
    pub(super) blob: Blob,
}

/// One slot and what its operators may do with it.
pub struct Deployment<W: World> {
    pub(super) slot: Arc<Slot<W>>,
    pub(super) vault: Arc<Vault>,
    /// Whoever changes the book holds it.
    turns: Turns<()>,
    book: Mutex<Arc<Book>>,
    pub(super) why_empty: Mutex<Option<String>>,
    /// Why the configured file was of no use when it was looked at last.
    pub(super) file_fault: Mutex<Option<String>>,
    /// Another version answers than should, or the configured one does not.
    pub(super) uncompiled: Mutex<Option<Uncompiled>>,
    /// The candidate that was not compiled at the start, and why.
    pub(super) uncompiled_candidate: Mutex<Option<(VersionId, String)>>,
    /// What the configuration names, where it was not compiled when it was loaded last.
    pub(super) uncompiled_configured: Mutex<Option<Named>>,
    /// Pause before any of these is compiled again; it doubles with every try.
    pub(super) compile_pause: Duration,
    pub(super) watched: Mutex<Option<Watched<W>>>,
    /// The loaded code of the version that a rollback goes back to.
    pub(super) held: Mutex<Option<Held<W>>>,
    /// What the book has and the one on disk has not.
    pub(super) unwritten: Mutex<Option<Unwritten>>,
    /// A task tries to write it.
    pub(super) is_retrying: AtomicBool,
    /// Has that task try soon.
    pub(super) retry: Arc<Notify>,
    /// Settings of this host's versions by their revision: what goes back goes back to its own.
    pub(super) revisions: Mutex<BTreeMap<String, Arc<Settings>>>,
    /// The configured component, which the vault gets with the first change.
    pub(super) unkept: Mutex<Option<Blob>>,
    /// What hosts on one database share, where they do.
    pub(super) shared: Option<Arc<Shared>>,
    /// Where this host stands beside it.
    pub(super) standing: Mutex<Standing>,
    /// Whoever follows it holds this.
    pub(super) following: Turns<()>,
    /// Components from there, until the vault has them.
    pub(super) fetched: Mutex<Vec<Blob>>,
    tasks: Mutex<JoinSet<()>>,
    own: Weak<Self>,
}

impl<W: World> std::fmt::Debug for Deployment<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deployment").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<W: World> Deployment<W> {
    /// A slot that nothing answers for yet. With `shared` it follows what other hosts do.
    pub fn new(slot: Arc<Slot<W>>, vault: Arc<Vault>, shared: Option<Arc<Shared>>) -> Arc<Self> {
        Self::retrying(slot, vault, shared, uncompiled::FIRST)
    }

    /// The same with another pause before a component is compiled again.
    pub(super) fn retrying(
        slot: Arc<Slot<W>>,
        vault: Arc<Vault>,
        shared: Option<Arc<Shared>>,
        compile_pause: Duration,
    ) -> Arc<Self> {
        let settings = slot.settings();
        let revisions = BTreeMap::from([(revision(&settings), settings)]);
        Arc::new_cyclic(|own| Self {
            revisions: Mutex::new(revisions),
            slot,
            vault,
            turns: Turns::default(),
            book: Mutex::default(),
            why_empty: Mutex::default(),
            file_fault: Mutex::default(),
            uncompiled: Mutex::default(),
            uncompiled_candidate: Mutex::default(),
            uncompiled_configured: Mutex::default(),
            compile_pause,
            watched: Mutex::default(),
            held: Mutex::default(),
            unwritten: Mutex::default(),
            is_retrying: AtomicBool::new(false),
            retry: Arc::default(),
            unkept: Mutex::default(),
            shared,
            standing: Mutex::default(),
            following: Turns::default(),
            fetched: Mutex::default(),
            tasks: Mutex::default(),
            own: Weak::clone(own),
        })
    }

    pub(super) fn book(&self) -> Arc<Book> {
        Arc::clone(&self.book.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_book(&self, book: Book) {
        self.keep_compiled(&book);
        *self.book.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(book);
    }

    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turns.lock().await
    }

    /// Runs `task` until it ends or the deployment is gone.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }

    pub(super) fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.own)
    }

    /// Checks, compiles, links and tries a component under `settings`, and says of each step that it has passed it.
    pub(super) async fn prepare(
        &self,
        wasm: Arc<[u8]>,
        source: &str,
        settings: Arc<Settings>,
        mut passed: impl FnMut(Stage),
    ) -> Result<Arc<Version<W>>, Unprepared> {
        let failed = |error: LoadError| {
            let is_passing = matches!(&error, LoadError::Compile(error) if !error.is_refusal());
            let reason = format!("{:#}", anyhow::Error::from(error));
            if is_passing { Unprepared::Uncompiled(reason) } else { Unprepared::Refused(reason) }
        };
        let digest = self.slot.check(Arc::clone(&wasm), &settings).await.map_err(failed)?;
        passed(Stage::Checked);
        let version = self.slot.compile(wasm, digest, source, settings).await.map_err(failed)?;
        passed(Stage::Compiled);
        let trial = invoke::trial(&self.slot, &version).await;
        trial.map_err(|word| format!("the component's self-test failed: {word}"))?;
        passed(Stage::Trialled);
        Ok(version)
    }

    /// The settings of a revision that this host has had, or else those of now.
    fn settings_of(&self, revision: &str) -> Arc<Settings> {
        let revisions = self.revisions.lock().unwrap_or_else(PoisonError::into_inner);
        revisions.get(revision).cloned().unwrap_or_else(|| self.slot.settings())
    }

    /// A version that is remembered, made ready to answer again under the settings that it had, where these are known.
    pub(super) async fn revive(&self, record: &Record) -> Result<Arc<Version<W>>, DeployError> {
        self.vouched(record).await?;
        let wasm = self.component(record).await?;
        self.prepare(wasm, &record.source, self.settings_of(&record.revision), |_| {})
            .await
            .map_err(|error| error.of(&record.id))
    }

    /// The bytes of a version's component.
    pub(super) async fn component(&self, record: &Record) -> Result<Arc<[u8]>, DeployError> {
        let unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(blob) = unkept.filter(|blob| blob.component == record.component) {
            return Ok(blob.wasm);
        }
        let (vault, slot, component) = (Arc::clone(&self.vault), self.slot.name(), record.component.clone());
        let cap = self.slot.yard.sandbox.component_bytes;
        let read = move || vault.component(slot, &component, cap);
        let kept = background::run(read).await.map_err(|_| DeployError::Stopping)?;
        match (kept, &self.shared) {
            (Err(_), Some(shared)) => {
                let blob = self.fetch(shared, record).await?;
                let wasm = Arc::clone(&blob.wasm);
                self.fetched.lock().unwrap_or_else(PoisonError::into_inner).push(blob);
                Ok(wasm)
            }
            (kept, _) => Ok(kept?),
        }
    }

    /// Waits in the background for the last call of a version that answers no more, and notes it as retired. A twin of it
    /// that is held for a rollback has answered none.
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
        let turn = self.turn().await;
        if self.book().get(id).is_none_or(|record| record.stage() != Stage::Draining) {
            return;
        }
        let reason = match self.held(id) {
            Some(_) => "its last call has ended; its code stays loaded while its successor is watched",
            None => "its last call has ended, its code is freed",
        };
        // One move, whichever write takes it.
        let retired = Move::now(Stage::Retired, HOST, reason);
        let retire = |book: &mut Book| book.add(id, retired.clone());
        let (slot, version) = (self.slot.name().as_str(), id.as_str());
        if let Err(error) = self.commit(&turn, None, Reach::Here, retire).await {
            tracing::warn!(slot, version, %error, "not noted as retired on disk; it is tried again");
            // It is so, whatever the disk takes.
            let _ = self.commit_in_memory(&turn, Reach::Here, retire, || {}).await;
        }
    }

    /// Looks at a component: what it is under `settings`, and whether its signature lets it answer.
    pub(super) async fn identify(
        &self,
        wasm: Arc<[u8]>,
        source: &str,
        proof: Proof,
        settings: &Settings,
    ) -> Result<Identified, DeployError> {
        let (signatures, hashed, slot) = (settings.signatures.clone(), Arc::clone(&wasm), self.slot.name());
        let vault = Arc::clone(&self.vault);
        let look = move || {
            let digest = ComponentDigest::of(&hashed);
            let proof = proof.or_built_in(&vault, slot, digest);
            (digest, signature::signer(&signatures, &hashed, &proof), proof.signature())
        };
        let looked = background::run(look).await;
        let (digest, signer, signature) = looked.map_err(|_| DeployError::Stopping)?;
        let mut record = Record::new(digest, wasm.len(), source, settings);
        if let Ok(Some(signed)) = &signer {
            (record.signed_by, record.signed_at) = (Some(signed.by.clone()), signed.at);
        }
        let blob = Blob { component: record.component.clone(), wasm, signature };
        Ok(Identified { record, signer: signer.map(drop), blob })
    }
}

impl<W: World> Deploy for Deployment<W> {
    fn slot(&self) -> SlotId {
        self.slot.name()
    }

    fn view(&self) -> SlotView {
        let mut book = Book::clone(&self.book());
        book.active = self.answering_id(&book);
        SlotView::new(&self.slot, &book, self.why_empty(), self.unwritten(), self.shared_view())
    }

    fn unwritten(&self) -> Option<String> {
        self.unwritten()
    }

    fn file_fault(&self) -> Option<String> {
        self.file_fault()
    }

    fn why_uncompiled(&self) -> Option<String> {
        self.why_uncompiled()
    }

    fn hold_predecessor(&self) {
        self.hold_after_start();
    }

    fn shared(&self) -> Option<SharedView> {
        self.shared_view()
    }

    fn shadow(&self) -> Option<ShadowView> {
        ShadowView::new(&self.slot, &self.book())
    }

    fn history(&self) -> Vec<Record> {
        self.book().versions.clone()
    }

    fn diff(self: Arc<Self>, a: String, b: String) -> BoxFuture<'static, Result<VersionDiff, DeployError>> {
        Box::pin(async move { self.compare_versions(&a, &b).await })
    }

    fn precompile(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.precompile_predecessor().await })
    }

    fn rehearse(
        self: Arc<Self>,
        settings: Settings,
    ) -> BoxFuture<'static, Result<Box<dyn Rehearsed>, DeployError>> {
        Box::pin(async move { Ok(Box::new(self.rehearsal(settings).await?) as Box<dyn Rehearsed>) })
    }

    fn settings(&self) -> Arc<Settings> {
        self.slot.settings()
    }

    fn why_empty(&self) -> Option<String> {
        self.why_empty.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        report: Report,
    ) -> BoxFuture<'static, Result<Pushed, DeployError>> {
        Box::pin(async move { self.take_up(wasm, &source, proof, &actor, &*report).await })
    }

    fn export(self: Arc<Self>, name: String) -> BoxFuture<'static, Result<Exported, DeployError>> {
        Box::pin(async move { self.bytes_of(&name).await })
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
