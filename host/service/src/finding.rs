//! What the command `doctor` finds on a machine.

use serde::Serialize;

/// How much a finding matters. A later one is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// There is nothing to do.
    Fine,
    /// A host starts, but serves less than it is asked for, or may fail later.
    Warning,
    /// No host can start, or keep what it is given.
    Failure,
}

/// The result of a check of the machine, the configuration or the data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineFinding {
    /// What was checked, such as `models`.
    pub check: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was found and, unless it is fine, what to do; for people, holds no secrets.
    pub text: String,
}

impl MachineFinding {
    /// Returns a finding with nothing to do.
    pub fn fine(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, severity: Severity::Fine, text: text.into() }
    }

    /// Returns a finding that a host starts with.
    pub fn warning(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, severity: Severity::Warning, text: text.into() }
    }

    /// Returns a finding that keeps a host from starting.
    pub fn failure(check: &'static str, text: impl Into<String>) -> Self {
        Self { check, severity: Severity::Failure, text: text.into() }
    }
}
