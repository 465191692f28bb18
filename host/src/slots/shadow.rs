//! What came of the copies of calls that a candidate in shadow was given.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Version, World};
use crate::telemetry::timestamp::rfc3339_millis;

/// Differences that are kept: enough to see a pattern, and with the longest texts less than a megabyte.
const KEPT: usize = 100;

/// A member of an answer that differs. Escaped and cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its value in the live answer, where it is there.
    pub live: Option<String>,
    /// Its value in the shadow's.
    pub shadow: Option<String>,
}

/// A call that the candidate answered in another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// When, RFC 3339.
    pub at: String,
    /// Which call.
    pub call: &'static str,
    /// In what.
    pub members: Vec<Member>,
}

/// What came of the copies since the candidate was put into shadow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Answered alike.
    pub same: u64,
    /// Answered in another way.
    pub different: u64,
    /// Ended by the sandbox where the live call was answered.
    pub failed: u64,
    /// Not made: all places were taken, or the host's answers to the live call were more than is kept for a copy.
    pub skipped: u64,
    /// The last calls that were answered in another way or failed, the oldest first.
    pub differences: VecDeque<Difference>,
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Same,
    Different,
    Failed,
    Skipped,
}

impl Comparison {
    /// The metric label.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A place for the copy of one call, and whom it is for.
pub struct Copied<W: World> {
    /// The candidate.
    pub version: Arc<Version<W>>,
    _place: OwnedSemaphorePermit,
}

/// The places of copies, and what is known of them.
#[derive(Debug)]
pub(super) struct Shadow {
    places: Arc<Semaphore>,
    /// Of the version with this serial.
    findings: Mutex<(u64, Findings)>,
}

impl Shadow {
    pub(super) fn new(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), findings: Mutex::default() }
    }

    /// A place, if one is free this moment.
    pub(super) fn place<W: World>(&self, version: &Arc<Version<W>>) -> Option<Copied<W>> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Copied { version: Arc::clone(version), _place: place })
    }

    /// Counts a copy. Those of a version other than the last one are forgotten.
    pub(super) fn note(&self, serial: u64, how: Comparison, call: &'static str, members: Vec<Member>) {
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        if findings.0 != serial {
            *findings = (serial, Findings::default());
        }
        let (_, findings) = &mut *findings;
        match how {
            Comparison::Same => findings.same += 1,
            Comparison::Different => findings.different += 1,
            Comparison::Failed => findings.failed += 1,
            Comparison::Skipped => findings.skipped += 1,
        }
        if members.is_empty() {
            return;
        }
        if findings.differences.len() == KEPT {
            findings.differences.pop_front();
        }
        let at = rfc3339_millis(SystemTime::now());
        findings.differences.push_back(Difference { at, call, members });
    }

    /// What is known of the version with this serial.
    pub(super) fn findings(&self, serial: u64) -> Findings {
        let findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        if findings.0 == serial { findings.1.clone() } else { Findings::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<Member> {
        vec![Member { name: "cost".into(), live: Some("1".into()), shadow: Some("2".into()) }]
    }

    #[test]
    fn copies_are_counted_and_the_last_differences_kept() {
        let shadow = Shadow::new(1);
        shadow.note(7, Comparison::Same, "issue", Vec::new());
        shadow.note(7, Comparison::Skipped, "issue", Vec::new());
        shadow.note(7, Comparison::Failed, "issue", members());
        for _ in 0..KEPT {
            shadow.note(7, Comparison::Different, "verify", members());
        }
        let findings = shadow.findings(7);
        assert_eq!((findings.same, findings.skipped, findings.failed), (1, 1, 1));
        assert_eq!(findings.different, KEPT as u64);
        assert_eq!(findings.differences.len(), KEPT);
        assert!(findings.differences.iter().all(|difference| difference.call == "verify"));
    }

    #[test]
    fn another_candidate_begins_anew() {
        let shadow = Shadow::new(1);
        shadow.note(7, Comparison::Different, "issue", members());
        assert_eq!(shadow.findings(8), Findings::default());
        shadow.note(8, Comparison::Same, "issue", Vec::new());
        assert_eq!(shadow.findings(8), Findings { same: 1, ..Findings::default() });
        assert_eq!(shadow.findings(7), Findings::default());
    }
}
