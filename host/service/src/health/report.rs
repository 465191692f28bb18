//! The readiness report of a host.

use std::collections::BTreeMap;

use serde::Serialize;

/// A failed check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedCheck {
    /// The name of the check, such as `storage`.
    pub check: String,
    /// The reason, for people; holds no secrets.
    pub reason: String,
}

/// Whether requests should be sent to this host: it is ready when no check fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyReport {
    /// Failed checks that make the host not ready.
    pub failing: Vec<FailedCheck>,
    /// Failed checks that leave the host ready.
    pub degraded: Vec<FailedCheck>,
    /// Slots whose state this host shares with others.
    pub slots: BTreeMap<&'static str, Generations>,
}

/// The generations of a slot whose state hosts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Generations {
    /// The generation that all hosts should apply, if it is known.
    pub desired: Option<u64>,
    /// The generation that this host has applied.
    pub applied: u64,
}

impl ReadyReport {
    /// Adds a failed check that makes the host not ready.
    pub fn fail(&mut self, check: impl Into<String>, reason: impl Into<String>) {
        self.failing.push(FailedCheck { check: check.into(), reason: reason.into() });
    }

    /// Adds a failed check that leaves the host ready.
    pub(crate) fn degrade(&mut self, check: impl Into<String>, reason: impl Into<String>) {
        self.degraded.push(FailedCheck { check: check.into(), reason: reason.into() });
    }

    /// Checks whether `check` is reported as degraded.
    pub(crate) fn is_degraded(&self, check: &str) -> bool {
        self.degraded.iter().any(|degraded| degraded.check == check)
    }

    /// Checks that no check fails.
    pub fn is_ready(&self) -> bool {
        self.failing.is_empty()
    }
}
