//! Whether the database could be reached last time: while it could not, calls are refused at once.

use super::StorageError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Why the database is away, if it is.
#[derive(Default)]
pub(super) struct Away {
    state: Mutex<State>,
    begun: Notify,
}

#[derive(Default)]
struct State {
    fault: Option<StorageError>,
    closed: bool,
    probe: Option<AbortHandle>,
}

impl Away {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails while the database is away.
    pub(super) fn check(&self) -> Result<(), StorageError> {
        self.state().fault.clone().map_or(Ok(()), Err)
    }

    /// Notes that the database could not be reached. True when that is new, so that the caller must start a probe.
    pub(super) fn begin(&self, fault: StorageError) -> bool {
        let mut state = self.state();
        if state.closed || state.fault.is_some() {
            return false;
        }
        state.fault = Some(fault);
        self.begun.notify_waiters();
        true
    }

    /// Ends once the database is away: why.
    pub(super) async fn begun(&self) -> StorageError {
        loop {
            // Before the look, so that no beginning is missed between the two.
            let begun = self.begun.notified();
            if let Err(fault) = self.check() {
                return fault;
            }
            begun.await;
        }
    }

    /// Keeps the probe that has been started, to end it with the ledger.
    pub(super) fn probed_by(&self, probe: AbortHandle) {
        let mut state = self.state();
        if state.closed {
            probe.abort();
        } else {
            state.probe = Some(probe);
        }
    }

    /// Notes that the database answers.
    pub(super) fn end(&self) {
        self.state().fault = None;
    }

    /// Ends the probe that may be running: an attempt of it would keep the pool from closing.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        if let Some(probe) = state.probe.take() {
            probe.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_starts_the_probe() {
        let (away, fault) = (Away::default(), StorageError::Unavailable("no connection".into()));
        assert_eq!(away.check(), Ok(()));
        assert!(away.begin(fault.clone()) && !away.begin(fault.clone()));
        assert_eq!(away.check(), Err(fault.clone()));
        away.end();
        assert_eq!(away.check(), Ok(()));
        away.close();
        assert!(!away.begin(fault), "nothing is probed any more");
    }

    #[tokio::test]
    async fn who_waits_is_told_at_once() {
        let (away, fault) = (Away::default(), StorageError::Unavailable("no connection".into()));
        let begin = async {
            tokio::task::yield_now().await;
            away.begin(fault.clone())
        };
        assert_eq!(tokio::join!(away.begun(), begin), (fault.clone(), true));
        assert_eq!(away.begun().await, fault, "who comes later too");
    }
}
