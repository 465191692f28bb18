//! Which version of a component answers for a service, and how it gets there.

mod admission;
mod file;
mod preflight;
mod version;
mod world;

use std::sync::Arc;

use arc_swap::ArcSwap;
use wasmtime::component::Linker;

use self::admission::Admission;
pub use self::{
    admission::{Overloaded, Place},
    file::{FileError, read_component},
    preflight::{Contract, Finding, Refused},
    version::{Kept, Version},
    world::World,
};
use crate::{
    capabilities::{Backing, Guest, INTERFACES, Interface},
    compile::{CompileError, Compiler, ComponentDigest},
    config::{
        sandbox::Sandbox,
        slots::{Slot as Settings, SlotName},
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
}

/// One compartment: its settings, its backing and the version that answers now.
pub struct Slot<W: World> {
    /// What it shares with the other slots.
    pub yard: Yard,
    /// Its configuration.
    pub settings: Settings,
    /// What its guests may reach.
    pub backing: Arc<Backing>,
    /// Its figures.
    pub metrics: SlotMetrics,
    admission: Admission,
    state: ArcSwap<State<W>>,
}

enum State<W: World> {
    Empty(&'static str),
    Active(Arc<Version<W>>),
}

/// A slot without a version, and why.
#[derive(Debug, thiserror::Error)]
#[error("slot {slot} is empty: {reason}")]
pub struct Empty {
    /// Which slot.
    pub slot: &'static str,
    /// Why, in words fit for clients.
    pub reason: &'static str,
}

impl<W: World> std::fmt::Debug for Slot<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl<W: World> Slot<W> {
    /// An empty slot.
    pub fn new(yard: Yard, settings: Settings, backing: Backing, metrics: SlotMetrics) -> Self {
        let admission = Admission::new(&settings.limits);
        let state = ArcSwap::from_pointee(State::Empty("no component has been loaded yet"));
        Self { yard, settings, backing: Arc::new(backing), metrics, admission, state }
    }

    /// Its name.
    pub fn name(&self) -> SlotName {
        self.backing.slot
    }

    /// The version that answers now.
    ///
    /// # Errors
    /// When there is none.
    pub fn active(&self) -> Result<Arc<Version<W>>, Empty> {
        match &**self.state.load() {
            State::Active(version) => Ok(Arc::clone(version)),
            State::Empty(reason) => Err(Empty { slot: self.name().as_str(), reason }),
        }
    }

    /// Waits for a place to run.
    ///
    /// # Errors
    /// When the queue is full or the wait too long.
    pub async fn admit(&self) -> Result<Place, Overloaded> {
        self.admission.admit(&self.metrics).await
    }

    /// Puts `version` in charge of every call that begins from now on.
    pub fn activate(&self, version: Arc<Version<W>>) {
        self.metrics.version(&version.digest.to_string(), &version.source);
        self.state.store(Arc::new(State::Active(version)));
    }

    /// Leaves the slot without a version, for a `reason` fit for clients.
    pub fn empty(&self, reason: &'static str) {
        self.state.store(Arc::new(State::Empty(reason)));
    }

    /// Checks, compiles and links `wasm`; the version does not answer yet. `source` says where it came from.
    ///
    /// # Errors
    /// When any check fails; the text says what to mend.
    pub async fn prepare(&self, wasm: Arc<[u8]>, source: &str) -> Result<Arc<Version<W>>, LoadError> {
        let (slot, cap) = (self.name(), self.yard.sandbox.component_bytes);
        let (grants, checked) = (self.settings.grants.clone(), Arc::clone(&wasm));
        // Reading and hashing megabytes is not a worker's job.
        let preflight = tokio::task::spawn_blocking(move || {
            let contract = Contract { slot, world: W::NAME, exports: W::EXPORTS, grants: &grants };
            contract.check(&checked, cap).map(|()| ComponentDigest::of(&checked))
        });
        let digest = preflight.await.map_err(|_| CompileError::Stopped)??;
        let component = self.yard.compiler.compile(wasm).await?;
        let types = |error| LoadError::Types { world: W::NAME, error };
        let mut linker = Linker::<Guest>::new(self.yard.engine.wasmtime());
        for interface in
            INTERFACES.iter().filter(|interface| granted(interface, self.name(), &self.settings.grants))
        {
            interface.add_to_linker(&mut linker).map_err(types)?;
        }
        let linked = linker.instantiate_pre(&component).and_then(W::link).map_err(types)?;
        Ok(Arc::new(Version::new(digest, source, linked)))
    }
}

/// Whether `slot` may import `interface`, by itself or by the configuration's grants.
fn granted(interface: &Interface, slot: SlotName, grants: &[String]) -> bool {
    interface.granted_to.contains(&slot) || grants.iter().any(|grant| grant == interface.name)
}
