//! One line of the log for many calls without an answer: one a call would bury all else, and says nothing new.

use super::StorageError;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Calls without an answer are told of this often at most.
const EVERY: Duration = Duration::from_secs(60);

/// When the log was told last, and of how many calls it has not been told since.
#[derive(Default)]
pub(super) struct Reminder(Mutex<State>);

#[derive(Default)]
struct State {
    said: Option<Instant>,
    unsaid: u64,
}

impl Reminder {
    /// Tells the log of a call without an answer, if it is time to.
    pub(super) fn tell<T>(&self, answer: &Result<T, StorageError>) {
        let Err(error @ StorageError::Unavailable(_)) = answer else { return };
        if let Some(calls) = self.due(Instant::now()) {
            tracing::error!(%error, calls, "the ledger's database gives calls no answer");
        }
    }

    /// The log has just been told of the fault.
    pub(super) fn said(&self, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = State { said: Some(now), unsaid: 0 };
    }

    /// Counts a call; how many there were since the last line when another is due.
    fn due(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.unsaid += 1;
        if state.said.is_some_and(|said| now.saturating_duration_since(said) < EVERY) {
            return None;
        }
        state.said = Some(now);
        Some(std::mem::take(&mut state.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_calls_are_one_line() {
        let (reminder, start) = (Reminder::default(), Instant::now());
        let calls = |seconds| reminder.due(start + Duration::from_secs(seconds));
        assert_eq!(calls(0), Some(1));
        assert_eq!([1, 30, 59].map(calls), [None; 3]);
        assert_eq!(calls(60), Some(4));
        reminder.said(start + Duration::from_secs(300));
        assert_eq!([300, 359].map(calls), [None; 2], "the outage has a line already");
        assert_eq!(calls(360), Some(3));
    }
}
