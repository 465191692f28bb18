//! What a guest may ask the host for: the trait of a capability, what a slot and a call hold for it, and the capabilities
//! that need nothing of any service, one file each.

pub mod bindings;
mod capability;
mod clocks;
mod config;
mod held;
mod journal;
mod keys;
mod logging;
mod random;
mod resources;
mod slot_log;

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{clocks::WasiClocksCtx, random::WasiRandomCtx};

pub use self::capability::{Access, Capability, CapabilitySet, Deprecated, Interface};
pub use self::held::{Held, HeldBytesExceeded};
pub use self::journal::{Journal, Mirror, Question};
pub use self::resources::SlotResources;
pub use self::slot_log::{LogLine, Recent};
use crate::{
    config::slots::Slot,
    sandbox::{Budget, Compartment},
};

/// The compartment of a guest with its capabilities.
pub type Guest = Compartment<Capabilities>;

/// The capabilities' state of one call.
pub struct Capabilities {
    /// What the slot's calls share.
    pub resources: Arc<SlotResources>,
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
        f.debug_struct("Capabilities").field("slot", &self.resources.slot).finish_non_exhaustive()
    }
}

impl Capabilities {
    /// Fresh state for one call, which takes its bytes from `budget`.
    pub fn new(
        resources: Arc<SlotResources>,
        version: Arc<str>,
        settings: Arc<Slot>,
        budget: Arc<Budget>,
    ) -> Self {
        // Values that wasmtime-wasi puts in are counted by their number. Only pollables are: two entries each, a deadline
        // and what waits for it, with wasmtime's own handle less than 400 bytes. `sandbox.handles` bounds them to 400 KB a
        // call by default, and this capacity to 1.6 times `memory_bytes` whatever that is. What a `poll` of them takes
        // ends with it, and its list counts against `response_bytes`, as all lists do that a guest hands over.
        let mut table = ResourceTable::new();
        table.set_max_capacity(budget.limit() / held::ENTRY_BYTES);
        Self {
            resources,
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

/// Returns the capabilities that need nothing of any service: clocks, random numbers, logging, configuration and keys.
pub fn general() -> CapabilitySet {
    CapabilitySet::default()
        .with(clocks::ClocksCapability)
        .with(random::RandomCapability)
        .with(logging::LoggingCapability)
        .with(config::ConfigCapability)
        .with(keys::KeysCapability)
}
