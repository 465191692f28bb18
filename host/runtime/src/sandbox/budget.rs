//! The memory budget of one call, for its linear memories and tables and for what the host holds for it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A budget of bytes that the linear memories, tables and host resources of one store share.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
    high_water: AtomicUsize,
}

impl MemoryBudget {
    /// Returns an unused budget of `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), high_water: AtomicUsize::new(0) }
    }

    /// Returns the most bytes that may be in use at once.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the most bytes that were in use at once.
    pub fn high_water(&self) -> usize {
        self.high_water.load(Relaxed)
    }

    /// Takes `bytes` and returns true, or returns false where fewer are left.
    #[must_use]
    pub fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        let taken = self.used.fetch_update(Relaxed, Relaxed, more);
        if let Ok(before) = taken {
            self.high_water.fetch_max(before.saturating_add(bytes), Relaxed);
        }
        taken.is_ok()
    }

    /// Returns `bytes` to the budget.
    pub fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_takes_released_bytes_again() {
        let budget = MemoryBudget::new(100);
        assert!(budget.take(60) && !budget.take(41) && !budget.take(usize::MAX) && budget.take(40));
        budget.release(60);
        assert!(budget.take(10) && !budget.take(51));
        assert_eq!((budget.used.load(Relaxed), budget.high_water()), (50, 100));
    }
}
