//! What a host says of its readiness.

use std::collections::BTreeMap;

use serde::Serialize;

/// A check that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failing {
    /// What was checked, such as `storage`.
    pub check: String,
    /// What is wrong, for people; holds no secrets.
    pub reason: String,
}

/// Whether requests should be sent here: when nothing fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyReport {
    /// The checks that do not hold.
    pub failing: Vec<Failing>,
    /// Those that do not hold and keep no request away.
    pub degraded: Vec<Failing>,
    /// Slots whose state this host shares with others.
    pub slots: BTreeMap<&'static str, Generations>,
}

/// The generation that all hosts should have, if it is known, and the one that answers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Generations {
    /// What all should have.
    pub desired: Option<u64>,
    /// What answers here.
    pub applied: u64,
}

impl ReadyReport {
    /// Adds a check that does not hold.
    pub fn fail(&mut self, check: impl Into<String>, reason: impl Into<String>) {
        self.failing.push(Failing { check: check.into(), reason: reason.into() });
    }

    /// Adds a check that does not hold and keeps no request away.
    pub fn degrade(&mut self, check: impl Into<String>, reason: impl Into<String>) {
        self.degraded.push(Failing { check: check.into(), reason: reason.into() });
    }

    /// Whether such a check does not hold.
    pub fn is_degraded(&self, check: &str) -> bool {
        self.degraded.iter().any(|degraded| degraded.check == check)
    }

    /// Whether nothing fails.
    pub fn is_ready(&self) -> bool {
        self.failing.is_empty()
    }
}
