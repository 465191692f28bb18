//! The status service: collects figures of the appointment system and calls its component to report on them.

pub mod alias;
mod author_files;
pub mod capabilities;
mod command;
pub mod config;
#[cfg(test)]
mod configured;
mod families;
pub mod http;
pub mod service;
mod shadow_diff;
pub mod spec;
mod world;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bulkhead_appointments::{Collector, Section};
use bulkhead_config::slots::SlotSettings;
use bulkhead_http::json;
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::invoke::{self, BadAnswer, Outcome};
use bulkhead_runtime::slots::{Slot, SlotContext};
use bulkhead_service::single_flight::{ServingVersions, SingleFlight, serving_versions};
use bulkhead_telemetry::{escape_guest, guest_lines};
use prometheus::proto::MetricFamily;
use serde_json::value::RawValue;

use self::{
    config::{StatusSettings, WireFormat},
    world::{Error, Options, Report, Wire},
};

pub use self::world::{HealthJudgement, Level, NamedFinding, Status};

/// The maximum bytes of a guest's text that are passed on.
const TEXT_BYTES: usize = 2000;
/// The maximum number of findings of a judgement.
const FINDINGS: usize = 100;
/// The maximum bytes of a finding's code.
const CODE_BYTES: usize = 64;

/// The first Unix second that an HTTP date cannot represent.
const YEAR_10000: f64 = 253_402_300_800.0;

/// Why a report cannot be given.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StatusError {
    /// The appointment system's figures are unknown or too old.
    #[error("the appointment system's figures are not known; the log says why")]
    FiguresUnknown,
    /// The slot is starting, has no component, or its circuit is open.
    #[error("{reason}")]
    SlotUnavailable {
        /// A stable name for logs.
        code: &'static str,
        /// The reason, in words for clients.
        reason: String,
        /// Seconds until a retry, where a retry may help.
        retry_after_seconds: Option<u32>,
    },
    /// The sandbox ended the call or was overloaded.
    #[error("the call ended with {}", .0.as_str())]
    Failed(Outcome),
    /// The guest returned an error.
    #[error("the component failed")]
    Internal,
}

impl From<invoke::CallError> for StatusError {
    fn from(error: invoke::CallError) -> Self {
        match error {
            invoke::CallError::Unavailable(unavailable) => Self::SlotUnavailable {
                code: unavailable.code(),
                reason: unavailable.to_string(),
                retry_after_seconds: unavailable.retry_after_seconds(),
            },
            invoke::CallError::Failed(failure) => Self::Failed(failure.outcome),
        }
    }
}

impl From<Error> for StatusError {
    fn from(error: Error) -> Self {
        match error {
            Error::Unknown(_) => Self::FiguresUnknown,
            Error::Internal(text) => {
                tracing::error!(
                    text = guest_lines(&text, TEXT_BYTES).join("; "),
                    "the status component failed"
                );
                Self::Internal
            }
        }
    }
}

/// The status payload.
#[derive(Debug)]
pub struct StatusPayload {
    /// A JSON object as text.
    pub data: Box<RawValue>,
    /// Unix seconds at which the oldest of its figures were collected.
    pub collected_at: f64,
    /// Unix seconds at which this payload was made.
    pub modified_at: f64,
    /// Whether the previous payload was made in the same second, so that a date in a header cannot distinguish them.
    pub shares_second: bool,
    /// The tag of the whole payload, once it has been asked for.
    pub(crate) tag: OnceLock<String>,
}

/// The metrics of a report.
#[derive(Debug)]
pub struct MetricPage {
    /// The families.
    pub families: Vec<MetricFamily>,
    /// Unix seconds at which the oldest of its figures were collected; `None` when no figures are known.
    pub collected_at: Option<f64>,
}

/// The serials of the figures of a snapshot.
type FigureSerials = Vec<(Section, u64)>;

/// The cache key of an answer: the figures, and the versions that may answer.
type PayloadKey = (FigureSerials, ServingVersions);

/// The cache of the last payload.
type CachedPayload = Mutex<Option<(PayloadKey, Arc<StatusPayload>)>>;

/// The status service: the collector and the slot of the component.
#[derive(Debug)]
pub struct StatusService {
    slot: Arc<Slot<Status>>,
    collector: Collector,
    wire: Wire,
    version: String,
    /// Caches of the payload without and with statistics: equal figures give equal payloads.
    cache: [CachedPayload; 2],
    /// The cache of the judgement.
    judgement: SingleFlight<PayloadKey, Result<HealthJudgement, StatusError>>,
}

impl StatusService {
    /// Creates the service with an empty slot.
    pub fn new(
        settings: &StatusSettings,
        slot: &SlotSettings,
        context: SlotContext,
        mut resources: SlotResources,
        collector: Collector,
    ) -> Self {
        resources.insert(Arc::new(collector.clone()));
        let metrics = resources.metrics.slot(slot.id());
        let wire = match settings.wire {
            WireFormat::Typed => Wire::Typed,
            WireFormat::Legacy => Wire::Legacy,
        };
        Self {
            slot: Arc::new(Slot::new(context, slot.clone(), resources, metrics)),
            collector,
            wire,
            version: settings.version.clone(),
            cache: Default::default(),
            judgement: SingleFlight::default(),
        }
    }

    /// Returns the slot, for loading components into it.
    pub const fn slot(&self) -> &Arc<Slot<Status>> {
        &self.slot
    }

    /// Returns the collector of the figures.
    pub const fn collector(&self) -> &Collector {
        &self.collector
    }

    /// Returns the status payload, with or without statistics.
    ///
    /// # Errors
    /// See [`StatusError`].
    pub async fn payload(&self, statistics: bool) -> Result<Arc<StatusPayload>, StatusError> {
        self.collector.refresh(statistics).await;
        let versions = serving_versions(&self.slot).map_err(invoke::CallError::from)?;
        let snapshot = self.collector.snapshot(statistics);
        let key = (snapshot.serials(), versions);
        let [without, with] = &self.cache;
        let cache = if statistics { with } else { without };
        let previous = cache.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((known, payload)) = &previous
            && *known == key
        {
            return Ok(Arc::clone(payload));
        }
        let modified_at = snapshot.newest();
        let shares_second =
            previous.is_some_and(|(_, previous)| previous.modified_at.floor() >= modified_at.floor());
        let (data, collected_at) = self.report(statistics).await?;
        let payload =
            Arc::new(StatusPayload { data, collected_at, modified_at, shares_second, tag: OnceLock::new() });
        *cache.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, Arc::clone(&payload)));
        Ok(payload)
    }

    /// Calls the component for its report, and returns the data and when it was collected.
    async fn report(&self, statistics: bool) -> Result<(Box<RawValue>, f64), StatusError> {
        let options = Options { statistics, wire: self.wire, version: self.version.clone() };
        let answer =
            invoke::call_shadowed(&self.slot, None, "status", checked_report, move |status, store| {
                Box::pin(async move { status.reports().call_status(store, &options).await })
            });
        Ok(answer.await??)
    }

    /// Judges the health of the appointment system. The call is public, so all callers get the same answer for five seconds,
    /// unless figures or versions change.
    ///
    /// # Errors
    /// See [`StatusError`].
    pub async fn health(&self) -> Result<HealthJudgement, StatusError> {
        self.collector.refresh(false).await;
        let versions = serving_versions(&self.slot).map_err(invoke::CallError::from)?;
        // Statistics are not collected for it, but it reports whether their collection fails.
        let key = (self.collector.snapshot(true).serials(), versions);
        self.judgement.get(key, self.judge()).await
    }

    /// Calls the component for its judgement.
    async fn judge(&self) -> Result<HealthJudgement, StatusError> {
        let answer = invoke::call_shadowed(&self.slot, None, "health", checked_judgement, |status, store| {
            Box::pin(status.judge(store))
        });
        Ok(answer.await??)
    }

    /// Returns the component's metrics of all figures.
    ///
    /// # Errors
    /// See [`StatusError`].
    pub async fn metrics(&self) -> Result<MetricPage, StatusError> {
        self.collector.refresh(true).await;
        let (version, collected_at) = (self.version.clone(), self.collector.snapshot(true).oldest());
        let answer = invoke::call(&self.slot, families::checked, move |status, store| {
            Box::pin(async move { status.reports().call_metrics(store, &version).await })
        });
        Ok(MetricPage { families: answer.await??, collected_at })
    }
}

/// Checks a report and returns its data and when it was collected. Every name and text of the data must be readable, because
/// selections read it again.
fn checked_report(report: Report) -> Result<(Box<RawValue>, f64), BadAnswer> {
    if !(0.0..YEAR_10000).contains(&report.collected_at) {
        return Err(BadAnswer("the time of collection is not between the years 1970 and 9999"));
    }
    let unreadable = |_| BadAnswer("the data of the report is not a JSON object that can be read");
    let data = json::as_written(report.data).map_err(unreadable)?;
    Ok((data, report.collected_at))
}

/// Checks the findings of a judgement and escapes its texts.
fn checked_judgement(judgement: HealthJudgement) -> Result<HealthJudgement, BadAnswer> {
    let findings =
        judgement.findings.map(|findings| findings.into_iter().map(checked_finding).collect()).transpose()?;
    if findings.as_ref().is_some_and(|findings: &Vec<NamedFinding>| findings.len() > FINDINGS) {
        return Err(BadAnswer("the judgement has more than 100 findings"));
    }
    Ok(HealthJudgement { text: escape_guest(&judgement.text, TEXT_BYTES), findings, ..judgement })
}

/// Checks the code of a finding and escapes its text.
fn checked_finding(finding: NamedFinding) -> Result<NamedFinding, BadAnswer> {
    let is_code_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !(1..=CODE_BYTES).contains(&finding.code.len()) || !finding.code.bytes().all(is_code_byte) {
        return Err(BadAnswer("the code of a finding is not of lower-case letters, digits and hyphens"));
    }
    Ok(NamedFinding { text: escape_guest(&finding.text, TEXT_BYTES), ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(collected_at: f64) -> Report {
        Report { data: "{}".into(), collected_at }
    }

    fn judgement(code: &str, findings: usize) -> HealthJudgement {
        let finding = NamedFinding { code: code.into(), level: Level::Warning, text: "a\nb".into() };
        HealthJudgement {
            level: Level::Warning,
            text: "c\nd".into(),
            findings: Some(vec![finding; findings]),
        }
    }

    #[test]
    fn findings_need_valid_codes() {
        let accepted =
            checked_judgement(judgement("mail-late-2", FINDINGS)).map(|judgement| judgement.findings);
        assert!(
            matches!(accepted, Ok(Some(findings)) if findings.iter().all(|found| !found.text.contains('\n')))
        );
        assert!(checked_judgement(judgement("mail-late", FINDINGS + 1)).is_err());
        for code in ["", "Mail", "a b", "a\"", "\u{e4}", &"a".repeat(CODE_BYTES + 1)] {
            assert!(checked_judgement(judgement(code, 1)).is_err(), "{code:?}");
        }
    }

    #[test]
    fn times_beyond_http_dates_are_rejected() {
        assert!(checked_report(report(0.0)).is_ok() && checked_report(report(1_791_000_000.5)).is_ok());
        for collected_at in [-1.0, YEAR_10000, 1e19, f64::MAX, f64::NAN, f64::INFINITY] {
            assert!(checked_report(report(collected_at)).is_err(), "{collected_at}");
        }
    }
}
