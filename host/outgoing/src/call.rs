//! One outgoing request, which both of its bodies share: its place among the slot's calls, and how it ends.

use std::{
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use tokio::sync::OwnedSemaphorePermit;

use super::{
    error::OutgoingError,
    metrics::{OutgoingOutcome, SlotOutgoingMetrics},
};

/// One outgoing request. It ends, and is counted, once neither body is left.
pub(crate) struct Call {
    metrics: SlotOutgoingMetrics,
    since: Instant,
    outcome: Mutex<OutgoingOutcome>,
    /// What was wrong with the request's body, of which the connection knows only that it failed.
    sending_failure: OnceLock<OutgoingError>,
    is_sent: AtomicBool,
    permit: OnceLock<OwnedSemaphorePermit>,
}

impl Call {
    pub(crate) fn begin(metrics: SlotOutgoingMetrics) -> Self {
        metrics.record_begin();
        Self {
            metrics,
            since: Instant::now(),
            outcome: Mutex::new(OutgoingOutcome::Cancelled),
            sending_failure: OnceLock::new(),
            is_sent: AtomicBool::new(false),
            permit: OnceLock::new(),
        }
    }

    /// Keeps the place among the slot's calls until the end.
    pub(crate) fn keep(&self, permit: OwnedSemaphorePermit) {
        // A call takes one permit.
        let _ = self.permit.set(permit);
    }

    pub(crate) const fn metrics(&self) -> &SlotOutgoingMetrics {
        &self.metrics
    }

    /// Records that the head of the response has arrived.
    pub(crate) fn record_answer(&self) {
        self.metrics.record_head(self.since.elapsed());
        self.set_outcome(OutgoingOutcome::Ok);
    }

    /// Records an error, and returns it.
    pub(crate) fn fail(&self, error: OutgoingError) -> OutgoingError {
        self.set_outcome(error.outcome());
        error
    }

    /// Records an error of the request's body, and returns it.
    pub(crate) fn fail_sending(&self, error: OutgoingError) -> OutgoingError {
        self.sending_failure.get_or_init(|| error).clone()
    }

    /// Returns the error of a connection, or that of the request's body where this is the reason.
    pub(crate) fn reason(&self, error: &hyper::Error, has_begun: bool) -> OutgoingError {
        let failure = self.sending_failure.get().cloned();
        failure.unwrap_or_else(|| OutgoingError::of(error, has_begun))
    }

    /// Records that nothing of the request's body is left to be sent.
    pub(crate) fn record_sent(&self) {
        self.is_sent.store(true, Ordering::Release);
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.is_sent.load(Ordering::Acquire)
    }

    fn set_outcome(&self, outcome: OutgoingOutcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.metrics.record_end(*self.outcome.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
