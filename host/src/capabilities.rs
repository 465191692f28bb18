//! What a guest may ask the host for: one file an interface, and one table of them all.

mod appointments;
mod clocks;
mod config;
mod embeddings;
mod guard;
mod held;
mod journal;
mod keys;
mod ledger;
mod llm;
mod logging;
mod nn;
mod pow;
mod random;
mod search;

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::{clocks::WasiClocksCtx, random::WasiRandomCtx};

pub use self::held::HeldBytesExceeded;
pub use self::journal::{Journal, Mirror};
use self::logging::LogBudget;
pub use self::logging::{LogLine, Recent};
pub use self::nn::bindings as nn_bindings;
use crate::{
    appointments::Collector,
    clock::HostClock,
    config::slots::{Slot, SlotId, SlotSpec},
    guard::Guard,
    inference::Gate,
    keys::KeyRing,
    knowledge::Knowledge,
    llm::Llm,
    pow::Pow,
    sandbox::{Budget, Compartment},
    storage::Ledger,
    telemetry::Metrics,
};

/// Bindings of the interfaces that are Bulkhead's own or not in wasmtime-wasi.
#[allow(missing_docs)]
pub mod bindings {
    wasmtime::component::bindgen!({
        path: ["../wit/deps/logging", "../wit/deps/config", "../wit/host"],
        world: "bulkhead:host/all",
        imports: {
            default: trappable,
            "bulkhead:host/pow": async | trappable,
            "bulkhead:host/ledger": async | trappable,
            "bulkhead:host/embeddings": async | trappable,
            "bulkhead:host/search": async | trappable,
            "bulkhead:host/llm": async | trappable,
            "bulkhead:host/guard": async | trappable,
        },
    });
}

/// The compartment of a guest with its capabilities.
pub type Guest = Compartment<Capabilities>;

/// What all calls of a slot share.
#[derive(Debug)]
pub struct Backing {
    /// Which slot.
    pub slot: SlotId,
    /// What `wasi:clocks/wall-clock` shows.
    pub clock: HostClock,
    /// What `bulkhead:host/keys` signs with.
    pub keys: KeyRing,
    /// What `bulkhead:host/pow` derives with.
    pub pow: Arc<Pow>,
    /// What `bulkhead:host/ledger` remembers in; none where the slot's service keeps none.
    pub ledger: Option<Ledger>,
    /// What `bulkhead:host/appointments` reads; none where the slot's service reads no appointment system.
    pub appointments: Option<Collector>,
    /// What `bulkhead:host/search` searches; none where the slot's service has no knowledge base.
    pub knowledge: Option<Arc<Knowledge>>,
    /// What `bulkhead:host/llm` asks; none where none is configured.
    pub llm: Option<Arc<Llm>>,
    /// What `bulkhead:host/guard` asks; none where none is configured.
    pub guard: Option<Arc<Guard>>,
    /// What `wasi:nn` and `bulkhead:host/embeddings` embed with.
    pub models: Gate,
    /// The slot's log budget.
    pub log: LogBudget,
    /// The last lines of the slot's log.
    pub recent: Recent,
    /// Where dropped log text is counted.
    pub metrics: Arc<Metrics>,
}

impl Backing {
    /// A slot's backing under its `settings`, with nothing in it yet but what every slot has.
    pub fn new(settings: &Slot, pow: Arc<Pow>, metrics: Arc<Metrics>) -> Self {
        let slot = settings.id();
        Self {
            slot,
            clock: HostClock::system(),
            keys: KeyRing::default(),
            pow,
            ledger: None,
            appointments: None,
            knowledge: None,
            llm: None,
            guard: None,
            models: Gate::new(settings, None, metrics.slot_inference(slot)),
            log: LogBudget::new(settings.limits.log_bytes_per_second),
            recent: Recent::default(),
            metrics,
        }
    }
}

/// The capabilities' state of one call.
pub struct Capabilities {
    /// What the slot's calls share.
    pub backing: Arc<Backing>,
    /// The version's id, for attribution.
    pub version: Arc<str>,
    /// When the present call must have ended; what waits for others ends in time for the guest to go on without.
    pub deadline: Option<Instant>,
    /// What the component is given, `wasi:config/store`'s answers among it.
    pub settings: Arc<Slot>,
    /// Whether another call is asked the same.
    pub mirror: Mirror,
    /// The beginning of what the guest logged as an error last, such as the text of a panic before its trap.
    pub last_words: Option<String>,
    table: ResourceTable,
    /// What the values in the table are taken from.
    budget: Arc<Budget>,
    // Made when first asked for: most calls use few of them.
    clocks: Option<WasiClocksCtx>,
    random: Option<WasiRandomCtx>,
}

impl std::fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capabilities").field("slot", &self.backing.slot).finish_non_exhaustive()
    }
}

impl Capabilities {
    /// Fresh state for one call, which takes its bytes from `budget`.
    pub fn new(backing: Arc<Backing>, version: Arc<str>, settings: Arc<Slot>, budget: Arc<Budget>) -> Self {
        // Values that wasmtime-wasi puts in are counted by their number. Only pollables are: two entries each, a deadline
        // and what waits for it, with wasmtime's own handle less than 400 bytes. `sandbox.handles` bounds them to 400 KB a
        // call by default, and this capacity to 1.6 times `memory_bytes` whatever that is. What a `poll` of them takes
        // ends with it, and its list counts against `response_bytes`, as all lists do that a guest hands over.
        let mut table = ResourceTable::new();
        table.set_max_capacity(budget.limit() / held::ENTRY_BYTES);
        Self {
            backing,
            version,
            settings,
            mirror: Mirror::None,
            last_words: None,
            deadline: None,
            table,
            budget,
            clocks: None,
            random: None,
        }
    }
}

/// Whether a function only looks or also changes something that outlives the call. A shadow run is
/// given its reads and none of its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Looks.
    Read,
    /// Changes.
    Write,
}

/// An interface that the host offers.
pub struct Interface {
    /// `package:name/interface`, without its version.
    pub name: &'static str,
    /// The version offered; the linker accepts any that semver calls compatible.
    pub version: &'static str,
    /// Whether every slot may import it without a grant. Others are granted by the description of a slot or by the
    /// configuration.
    pub is_general: bool,
    /// Every function, and what it does.
    pub functions: &'static [(&'static str, Access)],
    add_to_linker: fn(&mut Linker<Guest>) -> wasmtime::Result<()>,
}

impl std::fmt::Debug for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

impl Interface {
    /// Returns whether the components of a slot may import it under these grants of the configuration.
    pub fn is_granted(&self, slot: &SlotSpec, grants: &[String]) -> bool {
        self.is_general || slot.grants.contains(&self.name) || grants.iter().any(|grant| grant == self.name)
    }

    /// Makes the interface importable.
    ///
    /// # Errors
    /// When the linker has it already.
    pub fn add_to_linker(&self, linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
        (self.add_to_linker)(linker)
    }
}

/// Every interface of the host.
pub const INTERFACES: &[&Interface] = &[
    &clocks::WALL_CLOCK,
    &clocks::MONOTONIC_CLOCK,
    &clocks::POLL,
    &random::RANDOM,
    &random::INSECURE,
    &random::INSECURE_SEED,
    &logging::LOGGING,
    &config::STORE,
    &keys::KEYS,
    &pow::POW,
    &ledger::LEDGER,
    &appointments::APPOINTMENTS,
    &nn::ERRORS,
    &nn::TENSOR,
    &nn::INFERENCE,
    &nn::GRAPH,
    &embeddings::EMBEDDINGS,
    &search::SEARCH,
    &llm::LLM,
    &guard::GUARD,
];
