//! Records up to what time expired rows have been deleted, for a time of day that goes backward.
//!
//! When the time of day falls below the time of a sweep, a challenge may be good again whose spend that sweep has
//! deleted. Below the mark only challenges are granted that this process has issued since: those cannot have been
//! spent before. Where the rows themselves are lost, the mark is as far ahead as the last challenge lives.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most challenges that are remembered below the mark; further ones are refused when they are claimed.
const MOST_ISSUED: usize = 100_000;

/// The time of the latest sweep, and the challenges issued below it.
#[derive(Default)]
pub(super) struct HighWater {
    /// Rows that expired before this, in Unix milliseconds, may have been deleted.
    mark: AtomicI64,
    /// Ids with the expiry of their rows.
    issued: Mutex<HashMap<String, i64>>,
}

impl HighWater {
    fn issued(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.issued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn mark(&self) -> i64 {
        self.mark.load(SeqCst)
    }

    /// Raises the mark for a sweep at `now`, before it deletes anything, or to the mark of the database.
    pub(super) fn raise(&self, now: i64) {
        self.mark.fetch_max(now, SeqCst);
        self.issued().retain(|_, expires_at| *expires_at >= now);
    }

    /// Remembers a challenge that was just issued, when its row would expire below the mark.
    pub(super) fn remember(&self, expires_at: i64, id: impl FnOnce() -> Option<String>) {
        if expires_at >= self.mark() {
            return;
        }
        let mut issued = self.issued();
        if issued.len() < MOST_ISSUED
            && let Some(id) = id()
        {
            issued.insert(id, expires_at);
        }
    }

    /// Returns whether the challenge was issued below the mark, by this process and since the time of day went back.
    pub(super) fn has_issued(&self, id: &str) -> bool {
        self.issued().contains_key(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_swept() {
        let high_water = HighWater::default();
        high_water.raise(100);
        high_water.remember(100, || Some("above".into()));
        for number in 0..=MOST_ISSUED {
            high_water.remember(50, || Some(number.to_string()));
        }
        assert_eq!(high_water.issued().len(), MOST_ISSUED);
        assert!(high_water.has_issued("0") && !high_water.has_issued("above"));
        high_water.raise(51);
        assert!(!high_water.has_issued("0"), "its time is over");
        assert_eq!(high_water.mark(), 100, "the mark never falls");
    }
}
