//! The wasmtime engine of a host: its configuration, its pooling allocator and its epoch clock.

mod pool;
mod reservation;
mod target;
#[cfg(test)]
pub(crate) mod tests;
mod ticker;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bulkhead_config::{
    sandbox::{Allocator, Sandbox},
    slots::Limits,
};
use wasmtime::{Config, InstanceAllocationStrategy, PoolingAllocatorMetrics, WasmBacktraceDetails};

use self::reservation::Room;
pub use self::{
    pool::{ComponentLimits, PoolSize},
    reservation::{NoRoom, PoolReservation},
    target::CodeTarget,
    ticker::RunningGuard,
};

/// Stack that host functions need in addition to `sandbox.stack_bytes`. An overflow would abort the process, and
/// untouched pages take no memory. Compiled without optimisation, the deepest host function took more than half of it.
const HOST_STACK_BYTES: usize = 512 << 10;
/// Guard region of a memory that is allocated on demand, bytes: with it, most offsets of a load need no bounds check.
const ON_DEMAND_GUARD_BYTES: u64 = 64 << 10;

/// A module with a function that does nothing.
#[cfg(feature = "compiler")]
const EMPTY_FUNCTION: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x04\x01\x02\0\x0b";

/// The error of an engine that cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The pooling allocator is required and cannot be created.
    #[error(
        "cannot reserve address space for the instance pool: {0:#}; \
         lower slots.*.max_concurrent, sandbox.memories or sandbox.tables, or set sandbox.allocator = \"on-demand\""
    )]
    Pool(wasmtime::Error),
    /// The engine itself cannot be created.
    #[error("cannot create the WebAssembly engine: {0:#}; check sandbox.stack_bytes")]
    Engine(wasmtime::Error),
    /// The thread of the epoch clock cannot be started.
    #[error("cannot start the epoch clock: {0}")]
    Ticker(std::io::Error),
    /// Compiled code cannot be mapped.
    #[error(
        "cannot map compiled code: {0:#}; let the host map executable memory (MemoryDenyWriteExecute=no in its unit, execmem in \
         SELinux)"
    )]
    Code(wasmtime::Error),
}

/// The settings that machine code depends on: engines with the same settings can run each other's code, with a pooling
/// allocator or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSettings {
    /// Stack of one call, bytes.
    pub stack_bytes: usize,
    /// Address space of each memory that is allocated on demand, bytes; `None` with the pooling allocator, and where packs run,
    /// whose code expects as much as there.
    pub reservation: Option<u64>,
}

impl CodeSettings {
    /// Returns an engine that only compiles, on all threads or on the caller's, for a machine or for this very processor.
    ///
    /// # Errors
    /// When wasmtime refuses the settings.
    #[cfg(feature = "compiler")]
    pub fn compiling(
        &self,
        parallel: bool,
        target: Option<CodeTarget>,
    ) -> wasmtime::Result<wasmtime::Engine> {
        let mut config = self.configuration();
        config.parallel_compilation(parallel);
        if let Some(target) = target {
            config.target(target.triple())?;
        }
        wasmtime::Engine::new(&config)
    }

    /// Names the settings, for packs. Change a name when its meaning changes.
    pub(crate) fn features(&self) -> Vec<String> {
        let memory = self.reservation.map_or_else(|| "pooled".to_owned(), |bytes| bytes.to_string());
        let fixed = ["component-model", "epoch-interruption", "memory-init-cow"];
        fixed.map(str::to_owned).into_iter().chain([format!("memory={memory}")]).collect()
    }

    /// Returns all wasmtime settings of the host.
    fn configuration(&self) -> Config {
        let mut config = Config::new();
        config
            .wasm_component_model(true)
            .epoch_interruption(true)
            // Guests are synchronous, and concurrency support doubles the cost of a call.
            .concurrency_support(false)
            .memory_init_cow(true)
            // Otherwise it is read from the environment, which the compiler process does not have.
            .wasm_backtrace_details(WasmBacktraceDetails::Disable)
            .max_wasm_stack(self.stack_bytes)
            .async_stack_size(self.stack_bytes.saturating_add(HOST_STACK_BYTES));
        // Each memory reserves the largest size that a call may have, instead of the 4 GiB and guards that make bounds
        // checks unnecessary: on-demand allocation is for hosts with little address space.
        if let Some(reservation) = self.reservation {
            config
                .memory_reservation(reservation)
                .memory_reservation_for_growth(0)
                .memory_guard_size(ON_DEMAND_GUARD_BYTES)
                .guard_before_linear_memory(false);
        }
        config
    }
}

/// A wasmtime engine with its epoch clock. Dropping it stops the clock.
#[derive(Debug)]
pub struct Engine {
    wasmtime: wasmtime::Engine,
    code: CodeSettings,
    size: PoolSize,
    ticker: ticker::Ticker,
    memory_in_use: Arc<AtomicUsize>,
    room: Room,
}

impl Engine {
    /// Returns an engine for slots with these limits.
    ///
    /// # Errors
    /// When the pooling allocator is required and its address space cannot be reserved, or wasmtime refuses the settings.
    pub fn new<'a>(
        sandbox: &Sandbox,
        limits: impl IntoIterator<Item = &'a Limits>,
    ) -> Result<Self, EngineError> {
        Self::with_room(sandbox, limits, &[])
    }

    /// Returns an engine for slots with these limits, and for slots that are added later: the instance pool has `room` for
    /// their calls. A memory that is allocated on demand reserves the largest size of the former only, and moves if it grows
    /// beyond that.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn with_room<'a>(
        sandbox: &Sandbox,
        limits: impl IntoIterator<Item = &'a Limits>,
        room: &[Limits],
    ) -> Result<Self, EngineError> {
        let fixed = PoolSize::of(limits);
        let (size, component) = (fixed.with(room), ComponentLimits::of(sandbox));
        let pooled = CodeSettings { stack_bytes: sandbox.stack_bytes, reservation: None };
        let pooled_engine = || pooling(&pooled, &size, component, sandbox.memory);
        // Packs are compiled for a pool, and without a compiler there is no other code.
        let on_demand = |takes_packs: bool| -> Result<(wasmtime::Engine, CodeSettings), EngineError> {
            let is_small = cfg!(feature = "compiler") && !takes_packs;
            let code = CodeSettings { reservation: is_small.then_some(fixed.memory_bytes as u64), ..pooled };
            let engine = wasmtime::Engine::new(&code.configuration()).map_err(EngineError::Engine)?;
            Ok((engine, code))
        };
        let (wasmtime, code) = match sandbox.allocator {
            Allocator::OnDemand => on_demand(!sandbox.pack_keys.is_empty())?,
            Allocator::Pooling => (pooled_engine().map_err(EngineError::Pool)?, pooled),
            Allocator::Auto => match pooled_engine() {
                Ok(engine) => (engine, pooled),
                Err(error) => {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "cannot reserve address space for the instance pool; instances are allocated on demand, which is slower"
                    );
                    on_demand(false)?
                }
            },
        };
        let clock = wasmtime.clone();
        let ticker = ticker::Ticker::start(move || clock.increment_epoch()).map_err(EngineError::Ticker)?;
        let left = Room::none(size);
        room.iter().for_each(|limits| left.add(limits));
        Ok(Self { wasmtime, code, size, ticker, memory_in_use: Arc::default(), room: left })
    }

    /// Checks that code can be compiled and mapped as executable memory.
    ///
    /// # Errors
    /// When the operating system does not allow it.
    #[cfg(feature = "compiler")]
    pub fn check_code(&self) -> Result<(), EngineError> {
        wasmtime::Module::new(&self.wasmtime, EMPTY_FUNCTION).map(drop).map_err(EngineError::Code)
    }

    /// Reserves the calls of a slot that is added while the host runs.
    ///
    /// # Errors
    /// When [`with_room`](Self::with_room) left too little for them.
    pub fn reserve(&self, limits: &Limits) -> Result<PoolReservation, NoRoom> {
        self.room.reserve(limits)
    }

    /// Returns wasmtime's engine.
    pub const fn wasmtime(&self) -> &wasmtime::Engine {
        &self.wasmtime
    }

    /// Returns the size of the instance pool, if there is one.
    pub const fn pool_size(&self) -> PoolSize {
        self.size
    }

    /// Returns the settings that machine code for it depends on.
    pub(crate) const fn code_settings(&self) -> CodeSettings {
        self.code
    }

    /// Returns a guard that keeps the epoch clock running while a guest runs.
    pub fn running(&self) -> RunningGuard {
        self.ticker.running()
    }

    /// Waits until the epoch clock has advanced after this call. Never returns while its thread stands still. Safe to
    /// cancel.
    pub async fn epoch_passed(&self) {
        self.ticker.ticked().await;
    }

    /// Returns the bytes of the linear memories and tables of all stores.
    pub fn memory_in_use(&self) -> usize {
        self.memory_in_use.load(Ordering::Relaxed)
    }

    /// Returns the counter to which stores add their memory.
    pub(crate) fn memory_count(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.memory_in_use)
    }

    /// Returns the metrics of the pooling allocator, or `None` when instances are allocated on demand.
    pub fn pool_metrics(&self) -> Option<PoolingAllocatorMetrics> {
        self.wasmtime.pooling_allocator_metrics()
    }
}

fn pooling(
    settings: &CodeSettings,
    size: &PoolSize,
    component: ComponentLimits,
    memory: Option<u64>,
) -> wasmtime::Result<wasmtime::Engine> {
    let mut config = settings.configuration();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(size.configuration(component, memory)));
    wasmtime::Engine::new(&config)
}
