//! Tracks whether the database can be reached: during an outage calls are refused at once.

use super::StorageError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// The present outage of the database, if there is one.
#[derive(Default)]
pub(super) struct Outage {
    state: Mutex<OutageState>,
    began: Notify,
}

#[derive(Default)]
struct OutageState {
    fault: Option<StorageError>,
    closed: bool,
    probe: Option<AbortHandle>,
}

impl Outage {
    fn state(&self) -> MutexGuard<'_, OutageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails while the database is unreachable.
    pub(super) fn check(&self) -> Result<(), StorageError> {
        self.state().fault.clone().map_or(Ok(()), Err)
    }

    /// Records that the database could not be reached. Returns whether an outage begins, so that the caller must start
    /// a probe.
    pub(super) fn begin(&self, fault: StorageError) -> bool {
        let mut state = self.state();
        if state.closed || state.fault.is_some() {
            return false;
        }
        state.fault = Some(fault);
        self.began.notify_waiters();
        true
    }

    /// Waits for an outage and returns its cause.
    pub(super) async fn wait(&self) -> StorageError {
        loop {
            // Subscribes before the check, so that no outage is missed between the two.
            let begun = self.began.notified();
            if let Err(fault) = self.check() {
                return fault;
            }
            begun.await;
        }
    }

    /// Stores the running probe, to end it with the ledger.
    pub(super) fn set_probe(&self, probe: AbortHandle) {
        let mut state = self.state();
        if state.closed {
            probe.abort();
        } else {
            state.probe = Some(probe);
        }
    }

    /// Records that the database answers.
    pub(super) fn end(&self) {
        self.state().fault = None;
    }

    /// Aborts a running probe, whose attempts would keep the pool from closing.
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
        let (outage, fault) = (Outage::default(), StorageError::Unavailable("no connection".into()));
        assert_eq!(outage.check(), Ok(()));
        assert!(outage.begin(fault.clone()) && !outage.begin(fault.clone()));
        assert_eq!(outage.check(), Err(fault.clone()));
        outage.end();
        assert_eq!(outage.check(), Ok(()));
        outage.close();
        assert!(!outage.begin(fault), "a closed ledger starts no probe");
    }

    #[tokio::test]
    async fn waiting_calls_fail_at_once() {
        let (outage, fault) = (Outage::default(), StorageError::Unavailable("no connection".into()));
        let begin = async {
            tokio::task::yield_now().await;
            outage.begin(fault.clone())
        };
        assert_eq!(tokio::join!(outage.wait(), begin), (fault.clone(), true));
        assert_eq!(outage.wait().await, fault, "who comes later too");
    }
}
