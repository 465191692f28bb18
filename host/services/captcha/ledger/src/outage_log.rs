//! Writes one log line for many calls without an answer, because one per call would hide other lines.

use super::StorageError;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Least time between two lines.
const EVERY: Duration = Duration::from_secs(60);

/// The time of the last line, and the number of failed calls since.
#[derive(Default)]
pub(super) struct OutageLog(Mutex<OutageLogState>);

#[derive(Default)]
struct OutageLogState {
    logged_at: Option<Instant>,
    unlogged: u64,
}

impl OutageLog {
    /// Counts a call without an answer, and logs it if a line is due.
    pub(super) fn log_failure<T>(&self, answer: &Result<T, StorageError>) {
        let Err(error @ StorageError::Unavailable(_)) = answer else { return };
        if let Some(calls) = self.due(Instant::now()) {
            tracing::error!(%error, calls, "the ledger's database does not answer calls");
        }
    }

    /// Records that the fault was just logged.
    pub(super) fn mark_logged(&self, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            OutageLogState { logged_at: Some(now), unlogged: 0 };
    }

    /// Counts a call, and returns the number since the last line if another one is due.
    fn due(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.unlogged += 1;
        if state.logged_at.is_some_and(|logged_at| now.saturating_duration_since(logged_at) < EVERY) {
            return None;
        }
        state.logged_at = Some(now);
        Some(std::mem::take(&mut state.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_calls_are_one_line() {
        let (outage_log, start) = (OutageLog::default(), Instant::now());
        let calls = |seconds| outage_log.due(start + Duration::from_secs(seconds));
        assert_eq!(calls(0), Some(1));
        assert_eq!([1, 30, 59].map(calls), [None; 3]);
        assert_eq!(calls(60), Some(4));
        outage_log.mark_logged(start + Duration::from_secs(300));
        assert_eq!([300, 359].map(calls), [None; 2], "the outage has a line already");
        assert_eq!(calls(360), Some(3));
    }
}
