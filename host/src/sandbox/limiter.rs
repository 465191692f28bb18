use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use wasmtime::ResourceLimiter;

use crate::{
    config::slots::Limits,
    engine::{CORE_INSTANCES_PER_CALL, MEMORIES_PER_CALL, TABLES_PER_CALL},
};

/// Bytes that one table element takes.
const ELEMENT_BYTES: usize = size_of::<usize>();

/// What a limiter has refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Growing a linear memory or a table over `memory_bytes`.
    Memory,
    /// Growing a table over `table_elements`.
    TableElements,
}

/// Counts all linear memories and tables of a store against one budget.
#[derive(Debug)]
pub struct Limiter {
    memory_bytes: usize,
    table_elements: usize,
    used_bytes: usize,
    used_elements: usize,
    high_water: usize,
    refusal: Option<Refusal>,
    /// Bytes of all stores of the engine.
    total: Arc<AtomicUsize>,
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.total.fetch_sub(self.used_bytes, Ordering::Relaxed);
    }
}

impl Limiter {
    /// An empty count under `limits`, counted in `total` too.
    pub const fn new(limits: &Limits, total: Arc<AtomicUsize>) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            table_elements: limits.table_elements,
            used_bytes: 0,
            used_elements: 0,
            high_water: 0,
            refusal: None,
            total,
        }
    }

    /// The first refusal since the call began. A refused `memory.grow` shows up as a trap of the
    /// guest's own making, so this is read before the trap.
    pub const fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    pub(super) const fn forget_refusal(&mut self) {
        self.refusal = None;
    }

    /// The most that was in use, bytes.
    pub const fn high_water(&self) -> usize {
        self.high_water
    }

    fn refuse(&mut self, refusal: Refusal) -> bool {
        self.refusal.get_or_insert(refusal);
        false
    }

    /// Takes `bytes` from the budget, unless `own_maximum` (the memory's or table's own) forbids the growth anyway.
    fn take(&mut self, bytes: usize, own_maximum: bool) -> bool {
        match self.used_bytes.checked_add(bytes) {
            Some(used) if used <= self.memory_bytes => {
                if !own_maximum {
                    self.used_bytes = used;
                    self.total.fetch_add(bytes, Ordering::Relaxed);
                    self.high_water = self.high_water.max(used);
                }
                !own_maximum
            }
            _ => self.refuse(Refusal::Memory),
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let own_maximum = maximum.is_some_and(|maximum| desired > maximum);
        Ok(self.take(desired.saturating_sub(current), own_maximum))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let elements = self.used_elements.saturating_add(more);
        if elements > self.table_elements {
            return Ok(self.refuse(Refusal::TableElements));
        }
        let own_maximum = maximum.is_some_and(|maximum| desired > maximum);
        let granted = self.take(more.saturating_mul(ELEMENT_BYTES), own_maximum);
        if granted {
            self.used_elements = elements;
        }
        Ok(granted)
    }

    fn instances(&self) -> usize {
        CORE_INSTANCES_PER_CALL
    }

    fn tables(&self) -> usize {
        TABLES_PER_CALL
    }

    fn memories(&self) -> usize {
        MEMORIES_PER_CALL
    }
}
