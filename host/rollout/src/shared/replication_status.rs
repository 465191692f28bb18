//! The replication status of a slot: how far this host has applied the shared state, and when it retries.

use std::time::{Duration, Instant};

use bulkhead_config::slots::SlotId;
use serde::Serialize;

use super::{SharedState, jittered};
use crate::SlotState;

/// Longest pause before a version that may not answer here is retried.
const MAX_BACKOFF: Duration = Duration::from_secs(300);

/// How a slot of this host compares with the shared state.
#[derive(Clone, Debug, Serialize)]
pub struct SharedView {
    /// The generation that all hosts should have; `None` until the database has answered once.
    pub desired: Option<u64>,
    /// The generation that answers here.
    pub applied: u64,
    /// Why the two differ, if this host cannot apply the desired one.
    pub behind: Option<String>,
    /// Why the database is unreachable; `None` while it answers.
    pub away: Option<String>,
}

/// How far a slot of this host has applied the shared state.
#[derive(Debug, Default)]
pub(crate) struct ReplicationStatus {
    /// The row has been read since the start.
    pub(crate) has_read: bool,
    /// Some components that the state names may be missing here.
    pub(crate) is_incomplete: bool,
    lag: Option<Lag>,
    /// Stamp of the state whose application failed for another reason than a refused version.
    failed_stamp: Option<String>,
    /// The last failure was that the row cannot be read.
    has_unreadable_row: bool,
}

#[derive(Debug)]
struct Lag {
    applied: u64,
    reason: String,
    attempts: u32,
    retry_at: Instant,
}

impl ReplicationStatus {
    /// Records that the desired generation answers here.
    pub(crate) fn record_success(&mut self) {
        (self.lag, self.failed_stamp, self.has_unreadable_row) = (None, None, false);
    }

    /// Records that the state with this stamp could not be applied.
    pub(crate) fn record_failure(&mut self, stamp: String, applied: u64, reason: String, poll: Duration) {
        self.record_lag(applied, reason, poll);
        self.failed_stamp = Some(stamp);
    }

    /// Records that the state with this stamp cannot be read.
    pub(crate) fn record_unreadable(&mut self, stamp: String, applied: u64, reason: String, poll: Duration) {
        self.record_failure(stamp, applied, reason, poll);
        self.has_unreadable_row = true;
    }

    /// Returns whether the desired state cannot be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.has_unreadable_row
    }

    /// Returns whether it is too early to retry the state with this stamp.
    pub(crate) fn in_backoff(&self, stamp: &str) -> bool {
        self.failed_stamp.as_deref() == Some(stamp)
            && self.lag.as_ref().is_some_and(|lag| lag.retry_at > Instant::now())
    }

    /// Records why the desired generation does not answer here. `applied` is the generation that does, unless an
    /// earlier failure has recorded one.
    pub(crate) fn record_lag(&mut self, applied: u64, reason: String, poll: Duration) {
        self.has_unreadable_row = false;
        let before = self.lag.take();
        let attempts = before.as_ref().map_or(0, |before| before.attempts.saturating_add(1));
        let pause = poll.saturating_mul(1 << attempts.min(16)).min(MAX_BACKOFF);
        let applied = before.map_or(applied, |before| before.applied);
        self.lag = Some(Lag { applied, reason, attempts, retry_at: Instant::now() + jittered(pause) });
    }

    /// Returns whether the desired generation does not answer here. An unreadable state counts like an unreachable
    /// database.
    pub(crate) fn is_behind(&self) -> bool {
        self.lag.is_some() && !self.has_unreadable_row
    }

    /// Returns whether the state should be read again although its stamp has not changed.
    pub(crate) fn is_due(&self) -> bool {
        !self.has_read || self.lag.as_ref().is_some_and(|lag| lag.retry_at <= Instant::now())
    }

    pub(crate) fn view(&self, shared: &SharedState, slot: SlotId, state: &SlotState) -> SharedView {
        let heads = shared.heads.borrow();
        let none = heads.has_answered.then_some(state.generation);
        SharedView {
            desired: heads.slots.get(slot.as_str()).map_or(none, |head| head.generation),
            applied: self.lag.as_ref().map_or(state.generation, |lag| lag.applied),
            behind: self.lag.as_ref().map(|lag| lag.reason.clone()),
            away: heads.unreachable.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn unreadable_row_backs_off_without_lag() {
        let mut replication = ReplicationStatus::default();
        let (poll, damaged) = (Duration::from_secs(60), || "damaged".to_owned());
        replication.record_unreadable("stamp".into(), 7, damaged(), poll);
        assert!(replication.is_unreadable() && !replication.is_behind());
        assert_eq!(replication.lag.as_ref().map(|lag| lag.reason.as_str()), Some("damaged"));
        assert!(replication.in_backoff("stamp") && !replication.in_backoff("another"));
        replication.record_lag(7, "it is not signed".into(), poll);
        assert!(replication.is_behind() && !replication.is_unreadable());
        replication.record_unreadable("stamp".into(), 7, damaged(), poll);
        replication.record_success();
        assert!(!replication.is_unreadable() && !replication.in_backoff("stamp"));
    }

    #[test]
    fn retries_back_off_and_keep_applied_generation() {
        let mut replication = ReplicationStatus::default();
        assert!(replication.is_due(), "nothing has been read");
        replication.has_read = true;
        assert!(!replication.is_due());
        replication.record_lag(7, "first".into(), Duration::ZERO);
        assert!(replication.is_due());
        let mut last = Duration::ZERO;
        for _ in 0..40 {
            replication.record_lag(9, "again".into(), Duration::from_secs(1));
            let lag = replication.lag.as_ref().unwrap();
            assert_eq!(lag.applied, 7);
            let pause = lag.retry_at.saturating_duration_since(Instant::now());
            assert!(pause <= MAX_BACKOFF.mul_f64(1.1));
            last = pause;
        }
        assert!(last > MAX_BACKOFF / 2 && !replication.is_due());
        replication.record_success();
        assert!(replication.lag.is_none());
    }
}
