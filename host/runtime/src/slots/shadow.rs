//! Shadow calls: the permits of a candidate in shadow, and the comparison of its answers with the live ones.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use bulkhead_telemetry::timestamp::rfc3339_millis;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Version, World};

/// Most differences in a report: enough to show a pattern, and less than a megabyte with the longest texts.
const MAX_DIFFERENCES: usize = 100;

/// A field in which two answers differ. Its texts are escaped and cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldDifference {
    /// The name of the field.
    pub name: String,
    /// The value in the live answer, where it has the field.
    pub live: Option<String>,
    /// The value in the shadow's answer, where it has the field.
    pub shadow: Option<String>,
}

/// A call whose answer by the candidate differs from the live one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerDifference {
    /// The time of the comparison, RFC 3339.
    pub at: String,
    /// The name of the call.
    pub call: &'static str,
    /// The fields that differ.
    #[serde(rename = "members")]
    pub fields: Vec<FieldDifference>,
}

/// The comparisons since the candidate was put into shadow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShadowReport {
    /// Calls with the same answer.
    pub same: u64,
    /// Calls with a different answer.
    pub different: u64,
    /// Shadow calls that the sandbox ended, where the live call was answered.
    pub failed: u64,
    /// Shadow calls that were not made: no permit was free, or the recording of the live call was full.
    pub skipped: u64,
    /// The last calls with a different answer or a failure, the oldest first.
    pub differences: VecDeque<AnswerDifference>,
}

/// The result of comparing a shadow call with the live one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Same,
    Different,
    Failed,
    Skipped,
}

impl Comparison {
    /// Returns the metric label.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A permit for one shadow call of a candidate.
pub struct ShadowCall<W: World> {
    /// The candidate.
    pub version: Arc<Version<W>>,
    _permit: OwnedSemaphorePermit,
}

/// The permits of a slot's shadow calls, and the report of its candidate.
#[derive(Debug)]
pub(super) struct ShadowState {
    permits: Arc<Semaphore>,
    /// The report, with the serial of the version that it is about.
    report: Mutex<(u64, ShadowReport)>,
}

impl ShadowState {
    pub(super) fn new(permits: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(permits)), report: Mutex::default() }
    }

    /// Returns a permit for a shadow call of `version`, if one is free.
    pub(super) fn try_begin<W: World>(&self, version: &Arc<Version<W>>) -> Option<ShadowCall<W>> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        Some(ShadowCall { version: Arc::clone(version), _permit: permit })
    }

    /// Records a comparison. A version other than the last one starts a new report.
    pub(super) fn record(
        &self,
        serial: u64,
        comparison: Comparison,
        call: &'static str,
        fields: Vec<FieldDifference>,
    ) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if report.0 != serial {
            *report = (serial, ShadowReport::default());
        }
        let (_, report) = &mut *report;
        match comparison {
            Comparison::Same => report.same += 1,
            Comparison::Different => report.different += 1,
            Comparison::Failed => report.failed += 1,
            Comparison::Skipped => report.skipped += 1,
        }
        if fields.is_empty() {
            return;
        }
        if report.differences.len() == MAX_DIFFERENCES {
            report.differences.pop_front();
        }
        let at = rfc3339_millis(SystemTime::now());
        report.differences.push_back(AnswerDifference { at, call, fields });
    }

    /// Returns the report of the version with this serial.
    pub(super) fn report(&self, serial: u64) -> ShadowReport {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if report.0 == serial { report.1.clone() } else { ShadowReport::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Vec<FieldDifference> {
        vec![FieldDifference { name: "cost".into(), live: Some("1".into()), shadow: Some("2".into()) }]
    }

    #[test]
    fn report_counts_calls_and_keeps_last_differences() {
        let shadow = ShadowState::new(1);
        shadow.record(7, Comparison::Same, "issue", Vec::new());
        shadow.record(7, Comparison::Skipped, "issue", Vec::new());
        shadow.record(7, Comparison::Failed, "issue", fields());
        for _ in 0..MAX_DIFFERENCES {
            shadow.record(7, Comparison::Different, "verify", fields());
        }
        let report = shadow.report(7);
        assert_eq!((report.same, report.skipped, report.failed), (1, 1, 1));
        assert_eq!(report.different, MAX_DIFFERENCES as u64);
        assert_eq!(report.differences.len(), MAX_DIFFERENCES);
        assert!(report.differences.iter().all(|difference| difference.call == "verify"));
    }

    #[test]
    fn another_candidate_starts_new_report() {
        let shadow = ShadowState::new(1);
        shadow.record(7, Comparison::Different, "issue", fields());
        assert_eq!(shadow.report(8), ShadowReport::default());
        shadow.record(8, Comparison::Same, "issue", Vec::new());
        assert_eq!(shadow.report(8), ShadowReport { same: 1, ..ShadowReport::default() });
        assert_eq!(shadow.report(7), ShadowReport::default());
    }
}
