//! Slots: the versions of a component, and which of them takes a call.

mod admission;
mod author_files;
mod circuit;
mod file;
mod identity;
mod instance_pool;
mod late_free;
mod outline;
mod preflight;
mod routing;
mod shadow;
mod tally;
mod version;
mod world;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use bulkhead_config::{
    sandbox::Sandbox,
    slots::{SlotId, SlotSettings as Settings},
};
use bulkhead_telemetry::SlotMetrics;
use tokio::sync::Notify;
use wasmtime::component::{Component, Linker};

use self::{
    admission::Admission,
    instance_pool::InstancePool,
    routing::{RoutedVersions, Routing, TrafficSplit},
    shadow::{Comparison, ShadowState},
};
use crate::{
    background,
    capabilities::{CapabilitySet, SlotResources, StoreData},
    compile::{CompileError, Compiler, ComponentDigest},
    engine::{ComponentLimits, Engine},
};

pub use self::{
    admission::{Overloaded, Permit},
    author_files::{AuthorFiles, EmbeddedFile},
    circuit::CircuitBreaker,
    file::{FileError, read_component},
    identity::{VersionId, effective_settings, revision},
    instance_pool::PooledInstance,
    late_free::FreedLate,
    outline::{Outline, Usage, outline},
    preflight::{Contract, PreflightError, PreflightFinding},
    routing::{Trial, Weight},
    shadow::{AnswerDifference, FieldDifference, ShadowCall, ShadowReport},
    tally::{CallCounts, CallResult, RunningCall, Tally},
    version::{Version, VersionLoadError},
    world::{ServedWorld, SlotWorld, World},
};

/// Time after which to retry a call of a slot that is starting, seconds.
const START_RETRY_SECONDS: u32 = 1;

/// The parts of a host that all its slots share.
#[derive(Clone, Debug)]
pub struct SlotContext {
    /// The engine.
    pub engine: Arc<Engine>,
    /// The compiler.
    pub compiler: Arc<Compiler>,
    /// The limits that apply to all slots together.
    pub sandbox: Arc<Sandbox>,
    /// The capabilities that guests may import.
    pub capabilities: CapabilitySet,
}

/// A slot: its settings, its resources and the versions that calls are routed to.
pub struct Slot<W: World> {
    /// The parts that it shares with the other slots.
    pub context: SlotContext,
    settings: ArcSwap<Settings>,
    /// The state that its calls share.
    pub resources: Arc<SlotResources>,
    /// Its metrics.
    pub metrics: SlotMetrics,
    /// Wakes the rollback monitor: a call has failed, or the predecessor has taken over.
    pub rollback_check: Notify,
    admission: Admission,
    routing: ArcSwap<Routing<W>>,
    split: TrafficSplit,
    instances: InstancePool<W>,
    shadow: ShadowState,
}

/// The error of a call that no version of a slot takes.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SlotUnavailable {
    /// The host is starting, and the slot's first version is not ready yet.
    #[error("slot {slot} is starting: its component is not ready yet")]
    Starting {
        /// The slot's id.
        slot: &'static str,
    },
    /// No version is loaded.
    #[error("slot {slot} is empty: {reason}")]
    Empty {
        /// The slot's id.
        slot: &'static str,
        /// The reason, which clients may see.
        reason: &'static str,
    },
    /// The circuit of the active version is open, and no predecessor is loaded that could take the call.
    #[error("slot {slot}: circuit open, retry in {} s", whole_seconds(*retry_after))]
    CircuitOpen {
        /// The slot's id.
        slot: &'static str,
        /// The time until the next probe.
        retry_after: Duration,
    },
}

impl SlotUnavailable {
    /// Returns a stable code for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Starting { .. } => "starting",
            Self::Empty { .. } | Self::CircuitOpen { .. } => "slot-empty",
        }
    }

    /// Returns the time after which a retry makes sense, in whole seconds, at least one.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        match self {
            Self::Starting { .. } => Some(START_RETRY_SECONDS),
            Self::Empty { .. } => None,
            Self::CircuitOpen { retry_after, .. } => Some(whole_seconds(*retry_after)),
        }
    }
}

/// Rounds `wait` up to whole seconds, at least one.
fn whole_seconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u32::MAX).max(1)
}

impl<W: World> std::fmt::Debug for Slot<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl<W: World> Slot<W> {
    /// Returns a slot that is starting: it has no version yet.
    pub fn new(
        context: SlotContext,
        settings: Settings,
        resources: SlotResources,
        metrics: SlotMetrics,
    ) -> Self {
        Self {
            admission: Admission::new(&settings.limits),
            routing: ArcSwap::from_pointee(Routing::Starting),
            split: TrafficSplit::default(),
            instances: InstancePool::default(),
            shadow: ShadowState::new(settings.limits.shadow_calls),
            rollback_check: Notify::new(),
            resources: Arc::new(resources),
            context,
            settings: ArcSwap::from_pointee(settings),
            metrics,
        }
    }

    /// Returns the settings for versions that are created from now on.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// Replaces the settings for versions that are created from now on. Loaded versions keep theirs.
    pub fn set_settings(&self, settings: Arc<Settings>) {
        self.settings.store(settings);
    }

    /// Returns its id.
    pub fn name(&self) -> SlotId {
        self.resources.slot
    }

    /// Returns the active version.
    ///
    /// # Errors
    /// When no version is loaded.
    pub fn active(&self) -> Result<Arc<Version<W>>, SlotUnavailable> {
        self.routing.load().versions(self.name()).map(|versions| Arc::clone(&versions.active))
    }

    /// Returns the candidate and its mode.
    pub fn candidate(&self) -> Option<(Arc<Version<W>>, Trial)> {
        match &**self.routing.load() {
            Routing::Versions(versions) => versions.candidate.clone(),
            Routing::Starting | Routing::Empty(_) => None,
        }
    }

    /// Returns the version that takes a call. Calls with the same `key` go to the same version while the weight is
    /// unchanged.
    ///
    /// # Errors
    /// When no version is loaded, or the circuit of the active version is open and no predecessor is loaded.
    pub fn choose(&self, key: Option<&[u8]>) -> Result<Arc<Version<W>>, SlotUnavailable> {
        let routing = self.routing.load();
        let versions = routing.versions(self.name())?;
        if let Some((candidate, weight)) = versions.canary()
            && self.split.selects_candidate(weight, self.name(), key)
            && candidate.circuit.admit(Instant::now()).is_ok()
        {
            return Ok(Arc::clone(candidate));
        }
        versions.stable().map(Arc::clone).map_err(|retry_after| {
            self.metrics.circuit_refused();
            SlotUnavailable::CircuitOpen { slot: self.name().as_str(), retry_after }
        })
    }

    /// Returns a permit for a shadow call, while a candidate is in shadow and a permit is free. Costs one atomic load
    /// while there is no such candidate.
    pub(crate) fn begin_shadow(&self) -> Option<ShadowCall<W>> {
        let routing = self.routing.load();
        let Routing::Versions(RoutedVersions { candidate: Some((candidate, Trial::Shadow)), .. }) =
            &**routing
        else {
            return None;
        };
        let shadow_call = self.shadow.try_begin(candidate);
        if shadow_call.is_none() {
            self.record_skipped(candidate);
        }
        shadow_call
    }

    /// Records a shadow call as skipped.
    pub(crate) fn skip_shadow(&self, shadow_call: &ShadowCall<W>) {
        self.record_skipped(&shadow_call.version);
    }

    fn record_skipped(&self, candidate: &Version<W>) {
        self.shadow.record(candidate.serial, Comparison::Skipped, "", Vec::new());
        self.metrics.shadow(Comparison::Skipped.as_str());
    }

    /// Records the result of a shadow call of `call`: the fields in which its answer differs, and whether the sandbox
    /// ended the shadow call only.
    pub(crate) fn record_shadow(
        &self,
        shadow_call: &ShadowCall<W>,
        call: &'static str,
        failed: bool,
        fields: Vec<FieldDifference>,
    ) {
        let comparison = match (failed, fields.is_empty()) {
            (true, _) => Comparison::Failed,
            (false, true) => Comparison::Same,
            (false, false) => Comparison::Different,
        };
        self.metrics.shadow(comparison.as_str());
        self.shadow.record(shadow_call.version.serial, comparison, call, fields);
    }

    /// Returns the comparisons of `version` since it was put into shadow.
    pub fn shadow_report(&self, version: &Version<W>) -> ShadowReport {
        self.shadow.report(version.serial)
    }

    /// Waits for a permit to run a call.
    ///
    /// # Errors
    /// When the queue is full or the wait takes too long.
    pub async fn admit(&self) -> Result<Permit, Overloaded> {
        self.admission.admit(&self.metrics).await
    }

    /// Takes an idle instance of `version` out of the pool, where the slot reuses instances. The caller holds a permit.
    pub(crate) fn take_instance(&self, version: &Version<W>) -> Option<PooledInstance<W>> {
        let permits = version.settings.limits.max_concurrent;
        let has_room = |idle: usize| idle.saturating_add(self.admission.running(permits)) <= permits;
        version.settings.reuse.then(|| self.instances.take(version, has_room)).flatten()
    }

    /// Returns an instance whose call succeeded to the pool, where the slot reuses instances.
    pub(crate) fn return_instance(&self, version: &Version<W>, instance: PooledInstance<W>) {
        if version.settings.reuse {
            self.instances.put(version, instance);
        }
    }

    /// Records the result of a call of `version` in its tally and its circuit breaker.
    pub(crate) fn record_result(&self, version: &Version<W>, result: CallResult) {
        version.tally.record(result);
        if version.circuit.record(result, Instant::now) {
            let then = match self.fall_back(version.serial) {
                true => "the previous version takes its calls",
                false => "only probe calls run until one succeeds",
            };
            let (slot, version) = (self.name().as_str(), &*version.id);
            tracing::error!(slot, version, "circuit opened after consecutive failures; {then}");
        }
        if result != CallResult::Answered {
            self.rollback_check.notify_one();
        }
    }

    /// Leaves the slot without a version, for a `reason` that clients may see.
    pub fn set_empty(&self, reason: &'static str) {
        self.metrics.versions(None, None);
        self.routing.store(Arc::new(Routing::Empty(reason)));
    }

    /// Checks the size, format, exports and imports of `wasm` under `settings`.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub async fn check(
        &self,
        wasm: Arc<[u8]>,
        settings: &Settings,
    ) -> Result<ComponentDigest, VersionLoadError> {
        let (slot, table, cap) = (settings.spec, settings.table, self.context.sandbox.component_bytes);
        let limits = ComponentLimits::of(&self.context.sandbox);
        let (grants, capabilities) = (settings.grants.clone(), self.context.capabilities.clone());
        // Parsing and hashing megabytes would block a worker thread.
        let preflight = background::run(move || {
            let (world, exports) = (W::NAME, W::EXPORTS);
            let (grants, capabilities) = (&*grants, &capabilities);
            let contract = Contract { slot, table, world, exports, grants, limits, capabilities };
            contract.check(&wasm, cap).map(|()| ComponentDigest::of(&wasm))
        });
        Ok(preflight.await.map_err(|_| CompileError::Stopped)??)
    }

    /// Compiles and links `wasm`, which has been checked and has this digest, under `settings`. The version takes no
    /// calls yet. `source` is where the component came from.
    ///
    /// # Errors
    /// When the compiler refuses it, or its imports and exports have the right names and the wrong types.
    pub async fn compile(
        &self,
        wasm: Arc<[u8]>,
        digest: ComponentDigest,
        source: &str,
        settings: Arc<Settings>,
    ) -> Result<Arc<Version<W>>, VersionLoadError> {
        if self.context.compiler.has_to_compile(&wasm, digest).await {
            // It may take a minute, in which nothing else is logged.
            tracing::info!(slot = self.name().as_str(), bytes = wasm.len(), "compiling the component");
        }
        let component = self.context.compiler.compile(wasm, digest).await?;
        let (context, chosen) = (self.context.clone(), Arc::clone(&settings));
        let linking = background::run(move || link::<W>(&context, &component, &chosen));
        let linked = linking.await.map_err(|_| CompileError::Stopped)?;
        let linked = linked.map_err(|error| VersionLoadError::Types { world: W::NAME, error })?;
        Ok(Arc::new(Version::new(digest, source, linked, settings)))
    }

    /// Checks, compiles and links `wasm`. The version takes no calls yet. `source` is where the component came from.
    ///
    /// # Errors
    /// When any check fails; the text says what to change.
    pub async fn prepare(&self, wasm: Arc<[u8]>, source: &str) -> Result<Arc<Version<W>>, VersionLoadError> {
        let settings = self.settings();
        let digest = self.check(Arc::clone(&wasm), &settings).await?;
        self.compile(wasm, digest, source, settings).await
    }
}

/// Links a component with the interfaces that its slot may import.
fn link<W: World>(
    context: &SlotContext,
    component: &Component,
    settings: &Settings,
) -> wasmtime::Result<W::Linked> {
    let mut linker = Linker::<StoreData>::new(context.engine.wasmtime());
    context.capabilities.add_to_linker(&mut linker, &settings.spec, &settings.grants)?;
    linker.instantiate_pre(component).and_then(W::link)
}
