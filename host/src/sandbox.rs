//! The compartment of one call: a fresh store with its limits.

mod budget;
mod limiter;

use std::sync::Arc;

use wasmtime::{Store, StoreContextMut, UpdateDeadline};

pub use self::{
    budget::Budget,
    limiter::{Limiter, Refusal},
};
use crate::{
    config::{sandbox::Sandbox, slots::Limits},
    engine::Engine,
};

/// What a store carries: its limits, what it has used of them, and what its guest may reach.
#[derive(Debug)]
pub struct Compartment<C> {
    /// Memory and tables.
    pub limiter: Limiter,
    /// Epochs that found the guest running: milliseconds on the processor, as an upper bound.
    cpu_ticks: u64,
    cpu_budget: u64,
    /// The capabilities' state.
    pub capabilities: C,
}

/// Trap of a guest that has used up its CPU budget.
#[derive(Debug, thiserror::Error)]
#[error("the call has used its {0} ms of processor time")]
pub struct CpuBudgetSpent(u64);

impl<C> Compartment<C> {
    /// Makes the compartment ready for another call of the same guest.
    pub const fn renew(&mut self) {
        self.cpu_ticks = 0;
        self.limiter.forget_refusal();
    }
}

/// A fresh store under `limits`, whose budget of bytes its `capabilities` share. Its guest yields to the executor at
/// every epoch.
pub fn store<C: 'static>(
    engine: &Engine,
    sandbox: &Sandbox,
    limits: &Limits,
    capabilities: impl FnOnce(Arc<Budget>) -> C,
) -> Store<Compartment<C>> {
    let budget = Arc::new(Budget::new(limits.memory_bytes));
    let compartment = Compartment {
        limiter: Limiter::new(limits, Arc::clone(&budget), engine.memory_count()),
        cpu_ticks: 0,
        cpu_budget: limits.cpu_ms,
        capabilities: capabilities(budget),
    };
    let mut store = Store::new(engine.wasmtime(), compartment);
    store.limiter(|compartment| &mut compartment.limiter);
    store.set_hostcall_fuel(limits.response_bytes);
    store.set_max_component_handles(sandbox.handles);
    arm(&mut store);
    store.epoch_deadline_callback(charge);
    store
}

/// Starts the CPU budget's first millisecond.
pub fn arm<C: 'static>(store: &mut Store<Compartment<C>>) {
    store.set_epoch_deadline(1);
}

/// One more epoch has found the guest running. Re-armed by one tick at a time, so that time spent in
/// the host costs the guest one tick at most.
fn charge<C>(mut store: StoreContextMut<'_, Compartment<C>>) -> wasmtime::Result<UpdateDeadline> {
    let compartment = store.data_mut();
    compartment.cpu_ticks += 1;
    if compartment.cpu_ticks > compartment.cpu_budget {
        return Err(CpuBudgetSpent(compartment.cpu_budget).into());
    }
    Ok(UpdateDeadline::Yield(1))
}
