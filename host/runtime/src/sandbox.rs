//! The sandbox of one call: a fresh store with its limits.

mod budget;
mod limiter;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bulkhead_config::{sandbox::Sandbox, slots::Limits};
use wasmtime::{Store, StoreContextMut, UpdateDeadline};

use crate::engine::{ComponentLimits, Engine};

pub use self::{
    budget::MemoryBudget,
    limiter::{Limiter, RefusedGrowth},
};

/// The data of a store: its limits, how much of them is used, and the state of its guest's capabilities.
#[derive(Debug)]
pub struct SandboxState<C> {
    /// Limits memories and tables.
    pub limiter: Limiter,
    /// Epochs in which the guest was running: an upper bound of its processor time, in milliseconds.
    cpu_ticks: Arc<AtomicU64>,
    cpu_budget: u64,
    /// The capabilities' state.
    pub capabilities: C,
}

/// Trap of a guest that has used up its CPU budget.
#[derive(Debug, thiserror::Error)]
#[error("the call has used its {0} ms of processor time")]
pub struct CpuBudgetExceeded(u64);

impl<C> SandboxState<C> {
    /// Resets the CPU time and the recorded refusal before another call of the same guest.
    pub(crate) fn reset_for_call(&mut self) {
        self.cpu_ticks.store(0, Ordering::Relaxed);
        self.limiter.clear_refusal();
    }

    /// Returns the count of epochs in which the guest was running. It grows each time that the guest yields the processor
    /// without waiting for anything.
    pub fn cpu_ticks(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.cpu_ticks)
    }
}

/// Returns a fresh store under `limits`; its `capabilities` draw on the same memory budget. The guest yields to the
/// executor at every epoch.
pub fn store<C: 'static>(
    engine: &Engine,
    sandbox: &Sandbox,
    limits: &Limits,
    capabilities: impl FnOnce(Arc<MemoryBudget>) -> C,
) -> Store<SandboxState<C>> {
    let budget = Arc::new(MemoryBudget::new(limits.memory_bytes));
    let component = ComponentLimits::of(sandbox);
    let state = SandboxState {
        limiter: Limiter::new(limits, component, Arc::clone(&budget), engine.memory_count()),
        cpu_ticks: Arc::default(),
        cpu_budget: limits.cpu_ms,
        capabilities: capabilities(budget),
    };
    let mut store = Store::new(engine.wasmtime(), state);
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(limits.response_bytes);
    store.set_max_component_handles(sandbox.handles);
    arm_epoch_deadline(&mut store);
    store.epoch_deadline_callback(charge);
    store
}

/// Sets the epoch deadline to the next tick, which charges the first millisecond of the CPU budget.
pub(crate) fn arm_epoch_deadline<C: 'static>(store: &mut Store<SandboxState<C>>) {
    store.set_epoch_deadline(1);
}

/// Charges one millisecond to the guest that runs in this epoch. Re-arms by one tick at a time, so that time spent in the
/// host costs the guest one tick at most.
fn charge<C>(mut store: StoreContextMut<'_, SandboxState<C>>) -> wasmtime::Result<UpdateDeadline> {
    let state = store.data_mut();
    let before = state.cpu_ticks.fetch_add(1, Ordering::Relaxed);
    if before >= state.cpu_budget {
        return Err(CpuBudgetExceeded(state.cpu_budget).into());
    }
    Ok(UpdateDeadline::Yield(1))
}
