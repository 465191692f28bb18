//! Which version of a component answers for a service, and how it gets there.

mod admission;
mod answering;
mod circuit;
mod file;
mod identity;
mod kept;
mod outline;
mod preflight;
mod shadow;
mod tally;
mod version;
mod world;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use tokio::sync::Notify;
use wasmtime::component::{Component, Linker};

use self::{
    admission::Admission,
    answering::{Answering, Division, Versions},
    kept::KeptPool,
    shadow::{Comparison, Shadow},
};
pub use self::{
    admission::{Overloaded, Place},
    answering::{Trial, Weight},
    circuit::Circuit,
    file::{FileError, read_component},
    identity::{VersionId, given, revision},
    kept::Kept,
    outline::{Outline, Usage, outline},
    preflight::{Contract, Finding, Refused},
    shadow::{Copied, Difference, Findings, Member},
    tally::{Counts, Ending, Run, Tally},
    version::Version,
    world::World,
};
use crate::{
    background,
    capabilities::{CapabilitySet, Guest, SlotResources},
    compile::{CompileError, Compiler, ComponentDigest},
    config::{
        sandbox::Sandbox,
        slots::{Slot as Settings, SlotId},
    },
    engine::Engine,
    telemetry::SlotMetrics,
};

/// Why a component may not answer.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Found before compiling.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The compiler's word.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Imports or exports have the right names and the wrong types.
    #[error("the component does not fit {world}: {error:#}; build it against the WIT of this host")]
    Types {
        /// The slot's world.
        world: &'static str,
        /// wasmtime's word.
        error: wasmtime::Error,
    },
}

/// What all slots of a host share.
#[derive(Clone, Debug)]
pub struct Yard {
    /// The engine.
    pub engine: Arc<Engine>,
    /// The compiler.
    pub compiler: Arc<Compiler>,
    /// Limits that hold for all slots together.
    pub sandbox: Arc<Sandbox>,
    /// What guests may ask the host for.
    pub capabilities: CapabilitySet,
}

/// One compartment: its settings, its resources and the versions that answer now.
pub struct Slot<W: World> {
    /// What it shares with the other slots.
    pub yard: Yard,
    settings: ArcSwap<Settings>,
    /// What its guests may reach.
    pub resources: Arc<SlotResources>,
    /// Its figures.
    pub metrics: SlotMetrics,
    /// Rings when a call has not ended with an answer.
    pub alarm: Notify,
    admission: Admission,
    answering: ArcSwap<Answering<W>>,
    division: Division,
    kept: KeptPool<W>,
    shadow: Shadow,
}

/// A slot that no version answers for now, and why.
#[derive(Clone, Debug, thiserror::Error)]
#[error("slot {slot} is {}: {reason}", if retry_after.is_some() { "resting" } else { "empty" })]
pub struct Empty {
    /// Which slot.
    pub slot: &'static str,
    /// Why, in words fit for clients.
    pub reason: &'static str,
    /// When to ask again, where there is a version and its circuit is open.
    pub retry_after: Option<Duration>,
}

impl Empty {
    /// When to ask again, whole seconds, at least one.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        let seconds = |wait: Duration| u32::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u32::MAX);
        self.retry_after.map(|wait| seconds(wait).max(1))
    }
}

impl<W: World> std::fmt::Debug for Slot<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl<W: World> Slot<W> {
    /// An empty slot.
    pub fn new(yard: Yard, settings: Settings, resources: SlotResources, metrics: SlotMetrics) -> Self {
        Self {
            admission: Admission::new(&settings.limits),
            answering: ArcSwap::from_pointee(Answering::Nobody("no component has been loaded yet")),
            division: Division::default(),
            kept: KeptPool::default(),
            shadow: Shadow::new(settings.limits.shadow_calls),
            alarm: Notify::new(),
            resources: Arc::new(resources),
            yard,
            settings: ArcSwap::from_pointee(settings),
            metrics,
        }
    }

    /// What versions are given that are made from now on.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// Gives other settings to versions that are made from now on; those that answer keep theirs.
    pub fn set_settings(&self, settings: Arc<Settings>) {
        self.settings.store(settings);
    }

    /// Its name.
    pub fn name(&self) -> SlotId {
        self.resources.slot
    }

    /// The version that answers now, a candidate left aside.
    ///
    /// # Errors
    /// When there is none.
    pub fn active(&self) -> Result<Arc<Version<W>>, Empty> {
        match &**self.answering.load() {
            Answering::Versions(versions) => Ok(Arc::clone(&versions.active)),
            Answering::Nobody(reason) => Err(self.nobody(reason, None)),
        }
    }

    /// The candidate, and how it is tried.
    pub fn candidate(&self) -> Option<(Arc<Version<W>>, Trial)> {
        match &**self.answering.load() {
            Answering::Versions(versions) => versions.candidate.clone(),
            Answering::Nobody(_) => None,
        }
    }

    /// The version that answers a call: calls with one `key` are answered by one version as long as weights stand.
    ///
    /// # Errors
    /// When there is none, or the one there is has only failed of late and its predecessor is not loaded.
    pub fn choose(&self, key: Option<&[u8]>) -> Result<Arc<Version<W>>, Empty> {
        let answering = self.answering.load();
        let versions = match &**answering {
            Answering::Versions(versions) => versions,
            Answering::Nobody(reason) => return Err(self.nobody(reason, None)),
        };
        let now = Instant::now();
        if let Some((candidate, weight)) = versions.canary()
            && self.division.candidate_takes(weight, self.name(), key)
            && candidate.circuit.admit(now).is_ok()
        {
            return Ok(Arc::clone(candidate));
        }
        versions.stable(now).map(Arc::clone).map_err(|wait| {
            self.metrics.circuit_refused();
            self.nobody("its component fails call after call and is tried again soon", Some(wait))
        })
    }

    /// A place for the copy of a call, while a candidate is in shadow and a place is free this moment. Costs one atomic
    /// load while none is.
    pub fn copy(&self) -> Option<Copied<W>> {
        let answering = self.answering.load();
        let Answering::Versions(Versions { candidate: Some((candidate, Trial::Shadow)), .. }) = &**answering
        else {
            return None;
        };
        let copied = self.shadow.place(candidate);
        if copied.is_none() {
            self.note_skipped(candidate);
        }
        copied
    }

    /// Counts the copy of a call as skipped: there can be none.
    pub fn skip_copy(&self, copied: &Copied<W>) {
        self.note_skipped(&copied.version);
    }

    fn note_skipped(&self, candidate: &Version<W>) {
        self.shadow.note(candidate.serial, Comparison::Skipped, "", Vec::new());
        self.metrics.shadow(Comparison::Skipped.as_str());
    }

    /// Hears what came of the copy of a `call`: in what its answer differs, and whether the sandbox ended only it.
    pub fn note_copy(&self, copied: &Copied<W>, call: &'static str, failed: bool, members: Vec<Member>) {
        let how = match (failed, members.is_empty()) {
            (true, _) => Comparison::Failed,
            (false, true) => Comparison::Same,
            (false, false) => Comparison::Different,
        };
        self.metrics.shadow(how.as_str());
        self.shadow.note(copied.version.serial, how, call, members);
    }

    /// What came of the copies that `version` was given in shadow.
    pub fn findings(&self, version: &Version<W>) -> Findings {
        self.shadow.findings(version.serial)
    }

    fn nobody(&self, reason: &'static str, retry_after: Option<Duration>) -> Empty {
        Empty { slot: self.name().as_str(), reason, retry_after }
    }

    /// Waits for a place to run.
    ///
    /// # Errors
    /// When the queue is full or the wait too long.
    pub async fn admit(&self) -> Result<Place, Overloaded> {
        self.admission.admit(&self.metrics).await
    }

    /// An idle instance of `version`, where the slot keeps them. The caller has a place.
    pub fn take_kept(&self, version: &Version<W>) -> Option<Kept<W>> {
        let places = version.settings.limits.max_concurrent;
        let room = |idle: usize| idle.saturating_add(self.admission.running(places)) <= places;
        version.settings.reuse.then(|| self.kept.take(version, room)).flatten()
    }

    /// Keeps an instance whose call ended well, where the slot keeps them.
    pub fn keep(&self, version: &Version<W>, kept: Kept<W>) {
        if version.settings.reuse {
            self.kept.keep(version, kept);
        }
    }

    /// Hears how a call of `version` ended.
    pub fn note(&self, version: &Version<W>, ending: Ending) {
        version.tally.note(ending);
        if version.circuit.note(ending, Instant::now()) {
            let then = match self.fall_back(version.serial) {
                true => "the version before it takes its calls",
                false => "few are let through until one does not",
            };
            let (slot, version) = (self.name().as_str(), &*version.id);
            tracing::error!(slot, version, "calls fail one after the other; {then}");
        }
        if ending != Ending::Answer {
            self.alarm.notify_one();
        }
    }

    /// Leaves the slot without a version, for a `reason` fit for clients.
    pub fn empty(&self, reason: &'static str) {
        self.metrics.versions(None, None);
        self.answering.store(Arc::new(Answering::Nobody(reason)));
    }

    /// Checks `wasm` under `settings`: size, form, exports and imports.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub async fn check(&self, wasm: Arc<[u8]>, settings: &Settings) -> Result<ComponentDigest, LoadError> {
        let (slot, cap) = (settings.spec, self.yard.sandbox.component_bytes);
        let (grants, capabilities) = (settings.grants.clone(), self.yard.capabilities.clone());
        // Reading and hashing megabytes is not a worker's job.
        let preflight = background::run(move || {
            let (world, exports) = (W::NAME, W::EXPORTS);
            let contract = Contract { slot, world, exports, grants: &grants, capabilities: &capabilities };
            contract.check(&wasm, cap).map(|()| ComponentDigest::of(&wasm))
        });
        Ok(preflight.await.map_err(|_| CompileError::Stopped)??)
    }

    /// Compiles and links `wasm`, which has been checked and has this digest, under `settings`; the version does not
    /// answer yet. `source` says where it came from.
    ///
    /// # Errors
    /// When the compiler refuses it, or its imports and exports have the right names and the wrong types.
    pub async fn compile(
        &self,
        wasm: Arc<[u8]>,
        digest: ComponentDigest,
        source: &str,
        settings: Arc<Settings>,
    ) -> Result<Arc<Version<W>>, LoadError> {
        let component = self.yard.compiler.compile(wasm, digest).await?;
        let (yard, chosen) = (self.yard.clone(), Arc::clone(&settings));
        let linking = background::run(move || link::<W>(&yard, &component, &chosen));
        let linked = linking.await.map_err(|_| CompileError::Stopped)?;
        let linked = linked.map_err(|error| LoadError::Types { world: W::NAME, error })?;
        Ok(Arc::new(Version::new(digest, source, linked, settings)))
    }

    /// Checks, compiles and links `wasm`; the version does not answer yet. `source` says where it came from.
    ///
    /// # Errors
    /// When any check fails; the text says what to mend.
    pub async fn prepare(&self, wasm: Arc<[u8]>, source: &str) -> Result<Arc<Version<W>>, LoadError> {
        let settings = self.settings();
        let digest = self.check(Arc::clone(&wasm), &settings).await?;
        self.compile(wasm, digest, source, settings).await
    }
}

/// Gives a component what its slot may import.
fn link<W: World>(yard: &Yard, component: &Component, settings: &Settings) -> wasmtime::Result<W::Linked> {
    let mut linker = Linker::<Guest>::new(yard.engine.wasmtime());
    yard.capabilities.add_to_linker(&mut linker, &settings.spec, &settings.grants)?;
    linker.instantiate_pre(component).and_then(W::link)
}
