//! The one wasmtime engine of a host: its configuration, its instance pool and its epoch clock.

mod pool;
#[cfg(test)]
pub(crate) mod tests;
mod ticker;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use wasmtime::{Config, InstanceAllocationStrategy, PoolingAllocatorMetrics, WasmBacktraceDetails};

pub use self::{
    pool::{CORE_INSTANCES_PER_CALL, MEMORIES_PER_CALL, PoolSize, TABLES_PER_CALL},
    ticker::{Running, TICK},
};
use crate::config::{
    sandbox::{Allocator, Sandbox},
    slots::Limits,
};

/// Room that host functions need on a guest's stack, on top of `sandbox.stack_bytes`. Whoever runs out of it takes the
/// process along, and only what is touched takes memory: compiled without optimisation, a search in the knowledge base
/// took more than half of it.
const HOST_STACK_BYTES: usize = 512 << 10;
/// Guard of a memory made on demand, bytes: most offsets of a load need no check of their own with it.
const ON_DEMAND_GUARD_BYTES: u64 = 64 << 10;

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The pool was demanded and cannot be had.
    #[error(
        "cannot reserve address space for the instance pool: {0:#}; \
         lower slots.*.max_concurrent or set sandbox.allocator = \"on-demand\""
    )]
    Pool(wasmtime::Error),
    /// The engine itself cannot be made.
    #[error("cannot make a WebAssembly engine: {0:#}; check sandbox.stack_bytes")]
    Engine(wasmtime::Error),
    /// The epoch clock has no thread.
    #[error("cannot start the epoch clock: {0}")]
    Ticker(std::io::Error),
}

/// The settings that machine code depends on: code that an engine of the same settings made runs on this one, with a
/// pool or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSettings {
    /// Stack of one call, bytes.
    pub stack_bytes: usize,
    /// Address space of each memory that is made on demand, bytes; none where they come from a pool.
    pub reservation: Option<u64>,
}

impl CodeSettings {
    /// Returns an engine that only compiles, on all threads that there are or on the caller's.
    ///
    /// # Errors
    /// On settings that wasmtime refuses.
    pub fn compiling(&self, parallel: bool) -> wasmtime::Result<wasmtime::Engine> {
        wasmtime::Engine::new(self.configuration().parallel_compilation(parallel))
    }

    /// Every wasmtime setting of the host, in one place.
    fn configuration(&self) -> Config {
        let mut config = Config::new();
        config
            .wasm_component_model(true)
            .epoch_interruption(true)
            // Guests are synchronous: without this a call costs half as much.
            .concurrency_support(false)
            .memory_init_cow(true)
            // Else it is read from the environment, which the compiler's process does not have.
            .wasm_backtrace_details(WasmBacktraceDetails::Disable)
            .max_wasm_stack(self.stack_bytes)
            .async_stack_size(self.stack_bytes.saturating_add(HOST_STACK_BYTES));
        // Each memory takes the address space of the largest that a call may have, instead of the 4 GiB and guards that
        // spare bounds checks: where this is wanted, address space is short.
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
    ticker: ticker::Ticker,
    memory_in_use: Arc<AtomicUsize>,
}

impl Engine {
    /// An engine for slots with these limits.
    ///
    /// # Errors
    /// When the pool is demanded and the address space cannot be reserved, or on settings that
    /// wasmtime refuses.
    pub fn new<'a>(
        sandbox: &Sandbox,
        limits: impl IntoIterator<Item = &'a Limits>,
    ) -> Result<Self, EngineError> {
        let size = PoolSize::of(limits);
        let pooled = CodeSettings { stack_bytes: sandbox.stack_bytes, reservation: None };
        let demanded = CodeSettings { reservation: Some(size.memory_bytes as u64), ..pooled };
        let on_demand = || wasmtime::Engine::new(&demanded.configuration()).map_err(EngineError::Engine);
        let (wasmtime, code) = match sandbox.allocator {
            Allocator::OnDemand => (on_demand()?, demanded),
            Allocator::Pooling => (pooling(&pooled, &size).map_err(EngineError::Pool)?, pooled),
            Allocator::Auto => match pooling(&pooled, &size) {
                Ok(engine) => (engine, pooled),
                Err(error) => {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "cannot reserve address space for the instance pool, instances are made on demand: slower"
                    );
                    (on_demand()?, demanded)
                }
            },
        };
        let clock = wasmtime.clone();
        let ticker = ticker::Ticker::start(move || clock.increment_epoch()).map_err(EngineError::Ticker)?;
        Ok(Self { wasmtime, code, ticker, memory_in_use: Arc::default() })
    }

    /// The engine itself.
    pub const fn wasmtime(&self) -> &wasmtime::Engine {
        &self.wasmtime
    }

    /// The settings that machine code for it is made with.
    pub const fn code_settings(&self) -> CodeSettings {
        self.code
    }

    /// Keeps the epoch clock going while a guest runs.
    pub fn running(&self) -> Running {
        self.ticker.running()
    }

    /// Linear memories and tables of all stores, bytes.
    pub fn memory_in_use(&self) -> usize {
        self.memory_in_use.load(Ordering::Relaxed)
    }

    /// Where stores count their memory.
    pub(crate) fn memory_count(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.memory_in_use)
    }

    /// What of the pool is in use; none when instances are made on demand.
    pub fn pool_metrics(&self) -> Option<PoolingAllocatorMetrics> {
        self.wasmtime.pooling_allocator_metrics()
    }
}

fn pooling(settings: &CodeSettings, size: &PoolSize) -> wasmtime::Result<wasmtime::Engine> {
    let mut config = settings.configuration();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(size.configuration()));
    wasmtime::Engine::new(&config)
}
