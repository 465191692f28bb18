//! Capabilities of guests: the trait, the state of a slot and of a call, and the capabilities that depend on no
//! service, one file each.

pub mod bindings;
mod call_state;
mod capability;
mod clocks;
mod config;
mod host_resource;
mod http_stub;
mod keys;
mod logging;
mod random;
mod recording;
mod resources;
mod slot_log;
mod stdio;
mod stubs;

use std::sync::Arc;

use bulkhead_config::slots::SlotSettings;
use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, clocks::WasiClocksCtx, random::WasiRandomCtx};

use crate::sandbox::{MemoryBudget, SandboxState};

pub use self::call_state::CallState;
pub use self::capability::{Access, Capability, CapabilitySet, Deprecated, Interface, Stub};
pub use self::config::ConfigSecrets;
pub use self::host_resource::{HostResource, ResourceMemoryExceeded};
pub use self::recording::{Recording, RequestKey, ShadowMode};
pub use self::resources::SlotResources;
pub use self::slot_log::{LogLine, RecentLines};

/// The data of a guest's store: its limits and the state of its capabilities.
pub type StoreData = SandboxState<Capabilities>;

/// The state of the capabilities of one call.
pub struct Capabilities {
    /// The state that the slot's calls share.
    pub resources: Arc<SlotResources>,
    /// The version's id, for attribution.
    pub version: Arc<str>,
    /// The deadline of the call. Host functions that wait for a backend return early enough for the guest to continue
    /// without.
    pub deadline: Option<Instant>,
    /// The slot's settings for the component, which `wasi:config/store` reads.
    pub settings: Arc<SlotSettings>,
    /// Whether the host's answers are recorded for a shadow call, or replayed to one.
    pub shadow: ShadowMode,
    /// The start of the last error that the guest logged, such as the text of a panic before its trap.
    pub last_error: Option<String>,
    table: ResourceTable,
    /// The memory budget that values in the table count against.
    budget: Arc<MemoryBudget>,
    // Created on first use: most calls use few of them.
    clocks: Option<WasiClocksCtx>,
    random: Option<WasiRandomCtx>,
    stubs: Option<Box<WasiCtx>>,
    stdio: stdio::Stdio,
    /// The states of capabilities of services.
    states: call_state::CallStates,
}

impl std::fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capabilities").field("slot", &self.resources.slot).finish_non_exhaustive()
    }
}

impl Capabilities {
    /// Returns fresh state for one call, which counts against `budget`.
    pub fn new(
        resources: Arc<SlotResources>,
        version: Arc<str>,
        settings: Arc<SlotSettings>,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        // Values that wasmtime-wasi adds, and streams of standard output, are limited by their number. The largest are
        // pollables: two entries each, a deadline and its waiter, less than 400 bytes with wasmtime's own handle; stubs
        // make none that is larger, and no socket, file or buffer. `sandbox.handles` bounds them to 400 KB a call by
        // default, and this capacity bounds them to 1.6 times `memory_bytes`. The memory of a `poll` is freed when it
        // returns, and its list counts against `response_bytes`, as all lists from a guest do.
        let mut table = ResourceTable::new();
        table.set_max_capacity(budget.limit() / host_resource::ENTRY_BYTES);
        Self {
            resources,
            version,
            settings,
            shadow: ShadowMode::Off,
            last_error: None,
            deadline: None,
            table,
            budget,
            clocks: None,
            random: None,
            stubs: None,
            stdio: stdio::Stdio::default(),
            states: call_state::CallStates::default(),
        }
    }

    /// Prepares for a call, which may not be the first in this store.
    pub fn begin_call(&mut self, deadline: Instant, shadow: ShadowMode) {
        self.stdio.begin_call();
        self.deadline = Some(deadline);
        self.shadow = shadow;
        self.last_error = None;
    }
}

/// Returns the capabilities that depend on no service: clocks, random numbers, logging, configuration and keys, and the
/// stubs.
pub fn general() -> CapabilitySet {
    CapabilitySet::default()
        .with(clocks::ClocksCapability)
        .with(random::RandomCapability)
        .with(logging::LoggingCapability)
        .with(config::ConfigCapability)
        .with(keys::KeysCapability)
        .with_stubs(stubs::STUBS)
}
