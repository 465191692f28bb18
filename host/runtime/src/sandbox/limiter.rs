//! The resource limiter of a store: counts memories and tables against the slot's limits.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bulkhead_config::slots::Limits;
use wasmtime::ResourceLimiter;

use super::MemoryBudget;
use crate::engine::ComponentLimits;

/// Bytes that one table element takes.
const ELEMENT_BYTES: usize = size_of::<usize>();

/// A growth that a limiter has refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedGrowth {
    /// Growth of a linear memory or a table over `memory_bytes`.
    Memory,
    /// Growth of a table over `table_elements`.
    TableElements,
}

/// Counts all linear memories and tables of a store against one budget.
#[derive(Debug)]
pub struct Limiter {
    budget: Arc<MemoryBudget>,
    table_elements: usize,
    component: ComponentLimits,
    used_bytes: usize,
    used_elements: usize,
    refusal: Option<RefusedGrowth>,
    /// Bytes of all stores of the engine.
    total: Arc<AtomicUsize>,
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.total.fetch_sub(self.used_bytes, Ordering::Relaxed);
    }
}

impl Limiter {
    /// Returns a limiter under `limits` and `component` that takes bytes from `budget` and adds them to `total`.
    pub const fn new(
        limits: &Limits,
        component: ComponentLimits,
        budget: Arc<MemoryBudget>,
        total: Arc<AtomicUsize>,
    ) -> Self {
        let table_elements = limits.table_elements;
        Self { budget, table_elements, component, used_bytes: 0, used_elements: 0, refusal: None, total }
    }

    /// Returns the first refusal since the call began. A guest whose `memory.grow` is refused traps on its own, so
    /// check this before the trap.
    pub const fn refusal(&self) -> Option<RefusedGrowth> {
        self.refusal
    }

    pub(super) const fn clear_refusal(&mut self) {
        self.refusal = None;
    }

    /// Returns the most bytes that were in use at once.
    pub fn high_water(&self) -> usize {
        self.budget.high_water()
    }

    fn refuse(&mut self, refusal: RefusedGrowth) -> bool {
        self.refusal.get_or_insert(refusal);
        false
    }

    /// Takes `bytes` from the budget, or records a refusal.
    fn take(&mut self, bytes: usize) -> bool {
        if !self.budget.take(bytes) {
            return self.refuse(RefusedGrowth::Memory);
        }
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        self.total.fetch_add(bytes, Ordering::Relaxed);
        true
    }
}

/// Returns whether the guest's own maximum forbids the growth, in which case no limit of the slot is met. `maximum` may
/// also be the pooling allocator's, which is never below the slot's limit: that limit then refuses the growth.
fn exceeds_own_maximum(desired: usize, maximum: Option<usize>, limit: usize) -> bool {
    maximum.is_some_and(|maximum| desired > maximum && maximum < limit)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(!exceeds_own_maximum(desired, maximum, self.budget.limit())
            && self.take(desired.saturating_sub(current)))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if exceeds_own_maximum(desired, maximum, self.table_elements) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current);
        let elements = self.used_elements.saturating_add(more);
        if elements > self.table_elements {
            return Ok(self.refuse(RefusedGrowth::TableElements));
        }
        let granted = self.take(more.saturating_mul(ELEMENT_BYTES));
        if granted {
            self.used_elements = elements;
        }
        Ok(granted)
    }

    fn instances(&self) -> usize {
        self.component.core_instances
    }

    fn tables(&self) -> usize {
        self.component.tables
    }

    fn memories(&self) -> usize {
        self.component.memories
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const MIB: usize = 1 << 20;
    const LIMITS: Limits = Limits { memory_bytes: 2 * MIB, table_elements: 100, ..Limits::DEFAULT };

    fn limited(limits: &Limits, total: &Arc<AtomicUsize>) -> Limiter {
        let budget = Arc::new(MemoryBudget::new(limits.memory_bytes));
        Limiter::new(limits, ComponentLimits::DEFAULT, budget, Arc::clone(total))
    }

    fn limiter() -> (Limiter, Arc<AtomicUsize>) {
        let total = Arc::default();
        (limited(&LIMITS, &total), total)
    }

    #[test]
    fn memories_share_one_budget() {
        let (mut limiter, total) = limiter();
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        assert!(limiter.memory_growing(0, MIB / 2, None).unwrap(), "a second memory");
        assert!(!limiter.memory_growing(MIB, 2 * MIB, None).unwrap(), "one alone would fit");
        assert_eq!(limiter.refusal(), Some(RefusedGrowth::Memory));
        assert!(limiter.memory_growing(MIB, MIB + MIB / 2, None).unwrap(), "what is left can be had");
        assert_eq!((limiter.high_water(), total.load(Ordering::Relaxed)), (2 * MIB, 2 * MIB));
    }

    #[test]
    fn tables_count_as_elements_and_bytes() {
        let (mut limiter, total) = limiter();
        assert!(limiter.table_growing(0, 60, None).unwrap());
        assert!(limiter.table_growing(0, 40, None).unwrap());
        assert_eq!(total.load(Ordering::Relaxed), 100 * ELEMENT_BYTES);
        assert!(!limiter.table_growing(40, 41, None).unwrap());
        assert_eq!(limiter.refusal(), Some(RefusedGrowth::TableElements));

        let tiny = Limits { memory_bytes: 10 * ELEMENT_BYTES, ..LIMITS };
        let mut limiter = limited(&tiny, &total);
        assert!(!limiter.table_growing(0, 11, None).unwrap());
        assert_eq!(limiter.refusal(), Some(RefusedGrowth::Memory));
        assert!(limiter.table_growing(0, 10, None).unwrap(), "a refused growth costs nothing");
    }

    #[test]
    fn own_maximum_refuses_growth_without_refusal() {
        let (mut limiter, total) = limiter();
        assert!(!limiter.memory_growing(MIB, 3 * MIB, Some(MIB)).unwrap());
        assert!(!limiter.table_growing(0, 1000, Some(10)).unwrap());
        assert_eq!((limiter.refusal(), total.load(Ordering::Relaxed)), (None, 0));
    }

    #[test]
    fn first_refusal_stays_until_cleared() {
        let (mut limiter, _) = limiter();
        assert!(!limiter.table_growing(0, 1000, None).unwrap());
        assert!(!limiter.memory_growing(0, usize::MAX, None).unwrap());
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        assert_eq!(limiter.refusal(), Some(RefusedGrowth::TableElements));
        limiter.clear_refusal();
        assert_eq!(limiter.refusal(), None);
    }

    #[test]
    fn growth_to_maximum_does_not_overflow() {
        let (mut limiter, _) = limiter();
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        assert!(!limiter.memory_growing(0, usize::MAX, None).unwrap());
        assert!(!limiter.table_growing(0, usize::MAX, None).unwrap());
        assert_eq!(limiter.high_water(), MIB);
    }

    #[test]
    fn dropped_limiter_releases_its_bytes() {
        let (mut limiter, total) = limiter();
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        let mut other = limited(&LIMITS, &total);
        assert!(other.memory_growing(0, MIB, None).unwrap());
        drop(limiter);
        assert_eq!(total.load(Ordering::Relaxed), MIB);
        drop(other);
        assert_eq!(total.load(Ordering::Relaxed), 0);
    }
}
