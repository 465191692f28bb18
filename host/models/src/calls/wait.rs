//! For whom a call works, and how long it may take.

use std::time::{Duration, Instant};

use bulkhead_inference::engine::{Caller, Failure, Pending};

/// For whom a call works, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct CallTerms {
    /// For whom.
    pub caller: Caller,
    /// When it gives up waiting for its first turn.
    pub deadline: Instant,
    /// How long it may take from its first turn on, where that ends after the deadline.
    pub work: Duration,
}

impl CallTerms {
    /// Returns the terms of a call that ends with its deadline.
    pub const fn until(caller: Caller, deadline: Instant) -> Self {
        Self { caller, deadline, work: Duration::ZERO }
    }

    /// Waits for an answer of the engine. Dropping the future withdraws the request.
    pub(crate) async fn answer<T>(&self, mut pending: Pending<T>) -> Result<T, WaitFailure> {
        if let Ok(answer) = tokio::time::timeout_at(self.deadline.into(), &mut pending).await {
            return answer.map_err(WaitFailure::Engine);
        }
        let Some(started) = pending.started() else { return Err(WaitFailure::Engine(Failure::Deadline)) };
        match tokio::time::timeout_at((started + self.work).into(), pending).await {
            Ok(answer) => answer.map_err(WaitFailure::Engine),
            Err(_) => Err(WaitFailure::WorkTime),
        }
    }
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum WaitFailure {
    /// The engine's reason.
    Engine(Failure),
    /// It had begun, and took longer than it may.
    WorkTime,
}
