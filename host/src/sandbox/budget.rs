//! The bytes that one call may take: in its memories and tables, and in the host.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A budget of bytes that linear memories, tables and host resources of one store share.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    high_water: AtomicUsize,
}

impl Budget {
    /// A budget of `limit` bytes of which none is taken.
    pub const fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), high_water: AtomicUsize::new(0) }
    }

    /// The most bytes that may be taken.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// The most bytes that were taken at once.
    pub fn high_water(&self) -> usize {
        self.high_water.load(Relaxed)
    }

    /// Takes `bytes`, if they are left.
    #[must_use]
    pub fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        let taken = self.used.fetch_update(Relaxed, Relaxed, more);
        if let Ok(before) = taken {
            self.high_water.fetch_max(before.saturating_add(bytes), Relaxed);
        }
        taken.is_ok()
    }

    /// Gives `bytes` back that were taken.
    pub fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returned_bytes_can_be_taken_again() {
        let budget = Budget::new(100);
        assert!(budget.take(60) && !budget.take(41) && !budget.take(usize::MAX) && budget.take(40));
        budget.give_back(60);
        assert!(budget.take(10) && !budget.take(51));
        assert_eq!((budget.used.load(Relaxed), budget.high_water()), (50, 100));
    }
}
