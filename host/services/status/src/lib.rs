//! The status service: has figures collected, and asks its component what they say.

pub mod alias;
pub mod capabilities;
pub mod config;
#[cfg(test)]
mod configured;
mod families;
pub mod http;
pub mod service;
mod shadow_diff;
pub mod spec;
mod world;

use std::sync::{Arc, Mutex, PoisonError};

use bulkhead_appointments::{Collector, Section};
use bulkhead_config::slots::Slot as SlotSettings;
use bulkhead_http::json;
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::invoke::{self, BadAnswer, Outcome};
use bulkhead_runtime::slots::{Slot, SlotContext};
use bulkhead_service::shared_answer::{self, SharedAnswer, Versions};
use bulkhead_telemetry::{escape_guest, guest_lines};
use prometheus::proto::MetricFamily;
use serde_json::value::RawValue;

use self::{
    config::{Status as Settings, Wire as Spelling},
    world::{Error, Options, Report, Wire},
};

pub use self::world::{Judgement, Level, NamedFinding, Status};

/// Longest text of a guest that is passed on, bytes.
const TEXT_BYTES: usize = 2000;
/// Most findings of a judgement, and longest code of one, bytes.
const FINDINGS: usize = 100;
const CODE_BYTES: usize = 64;

/// The first Unix second that no HTTP date can name.
const YEAR_10000: f64 = 253_402_300_800.0;

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The appointment system's figures are not known, or are too old.
    #[error("the appointment system's figures are not known; the log says why")]
    Unknown,
    /// The slot has no component, or one that only fails.
    #[error("{reason}")]
    Empty {
        /// Why, in words fit for clients.
        reason: String,
        /// When to ask again, seconds, where that helps.
        retry_after_seconds: Option<u32>,
    },
    /// The sandbox ended the call, or had no room for it.
    #[error("the call ended with {}", .0.as_str())]
    Failed(Outcome),
    /// The guest gave up.
    #[error("the component failed")]
    Internal,
}

impl From<invoke::CallError> for CallError {
    fn from(error: invoke::CallError) -> Self {
        match error {
            invoke::CallError::Unavailable(unavailable) => Self::Empty {
                reason: unavailable.to_string(),
                retry_after_seconds: unavailable.retry_after_seconds(),
            },
            invoke::CallError::Failed(failure) => Self::Failed(failure.outcome),
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        match error {
            Error::Unknown(_) => Self::Unknown,
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

/// The payload.
#[derive(Debug)]
pub struct Payload {
    /// JSON text of an object.
    pub data: Box<RawValue>,
    /// Unix seconds at which the oldest of its figures were collected.
    pub collected_at: f64,
    /// Unix seconds at which this payload came about.
    pub modified_at: f64,
    /// Whether the payload before it came about in the same second, so that a date in a header cannot tell the two apart.
    pub shares_second: bool,
}

/// Every metric that is known.
#[derive(Debug)]
pub struct MetricPage {
    /// The families.
    pub families: Vec<MetricFamily>,
    /// Unix seconds at which the oldest of its figures were collected; `None` when no figures are known.
    pub collected_at: Option<f64>,
}

/// What is known at one time, by its serials.
type Figures = Vec<(Section, u64)>;

/// What an answer is made of: the figures, and the versions that may make it.
type Made = (Figures, Versions);

/// The last payload; none when nothing is kept.
type Kept = Mutex<Option<(Made, Arc<Payload>)>>;

/// The status service.
#[derive(Debug)]
pub struct StatusService {
    slot: Arc<Slot<Status>>,
    collector: Collector,
    wire: Wire,
    version: String,
    /// With and without statistics: the same figures make the same payload, so it is made once.
    kept: [Kept; 2],
    /// By the figures and the versions that it is made of.
    judgement: SharedAnswer<Made, Result<Judgement, CallError>>,
}

impl StatusService {
    /// The service with an empty slot.
    pub fn new(
        settings: &Settings,
        slot: &SlotSettings,
        context: SlotContext,
        mut resources: SlotResources,
        collector: Collector,
    ) -> Self {
        resources.insert(Arc::new(collector.clone()));
        let metrics = resources.metrics.slot(slot.id());
        let wire = match settings.wire {
            Spelling::Typed => Wire::Typed,
            Spelling::Legacy => Wire::Legacy,
        };
        Self {
            slot: Arc::new(Slot::new(context, slot.clone(), resources, metrics)),
            collector,
            wire,
            version: settings.version.clone(),
            kept: Default::default(),
            judgement: SharedAnswer::default(),
        }
    }

    /// Returns the slot, for loading components into it.
    pub const fn slot(&self) -> &Arc<Slot<Status>> {
        &self.slot
    }

    /// Where figures come from.
    pub const fn collector(&self) -> &Collector {
        &self.collector
    }

    /// The status payload.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn payload(&self, statistics: bool) -> Result<Arc<Payload>, CallError> {
        self.collector.refresh(statistics).await;
        let versions = shared_answer::versions(&self.slot).map_err(invoke::CallError::from)?;
        let snapshot = self.collector.snapshot(statistics);
        let made = (snapshot.serials(), versions);
        let [without, with] = &self.kept;
        let kept = if statistics { with } else { without };
        let before = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((known, payload)) = &before
            && *known == made
        {
            return Ok(Arc::clone(payload));
        }
        let modified_at = snapshot.newest();
        let shares_second =
            before.is_some_and(|(_, before)| before.modified_at.floor() >= modified_at.floor());
        let (data, collected_at) = self.make(statistics).await?;
        let payload = Arc::new(Payload { data, collected_at, modified_at, shares_second });
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((made, Arc::clone(&payload)));
        Ok(payload)
    }

    async fn make(&self, statistics: bool) -> Result<(Box<RawValue>, f64), CallError> {
        let options = Options { statistics, wire: self.wire, version: self.version.clone() };
        let answer = invoke::call_shadowed(&self.slot, None, "status", read, move |status, store| {
            Box::pin(async move { status.reports().call_status(store, &options).await })
        });
        Ok(answer.await??)
    }

    /// What is to be said of the system's health, in one line. Anybody may ask, so one answer is given to all who ask
    /// within five seconds, unless figures or versions change.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn health(&self) -> Result<Judgement, CallError> {
        self.collector.refresh(false).await;
        let versions = shared_answer::versions(&self.slot).map_err(invoke::CallError::from)?;
        // Statistics are not collected for it, but it says whether their collection fails.
        let made_of = (self.collector.snapshot(true).serials(), versions);
        self.judgement.get(made_of, self.judge()).await
    }

    async fn judge(&self) -> Result<Judgement, CallError> {
        let answer = invoke::call_shadowed(&self.slot, None, "health", shown, |status, store| {
            Box::pin(status.judge(store))
        });
        Ok(answer.await??)
    }

    /// Everything that is known, as metrics.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn metrics(&self) -> Result<MetricPage, CallError> {
        self.collector.refresh(true).await;
        let (version, collected_at) = (self.version.clone(), self.collector.snapshot(true).oldest());
        let answer = invoke::call(&self.slot, families::checked, move |status, store| {
            Box::pin(async move { status.reports().call_metrics(store, &version).await })
        });
        Ok(MetricPage { families: answer.await??, collected_at })
    }
}

/// The data of a report and when it was collected. Every name and text of it must be readable, for the data is read
/// once more where a client selects from it.
fn read(report: Report) -> Result<(Box<RawValue>, f64), BadAnswer> {
    if !(0.0..YEAR_10000).contains(&report.collected_at) {
        return Err(BadAnswer("the time of collection is not between the years 1970 and 9999"));
    }
    let unreadable = |_| BadAnswer("the data of the report is not a JSON object that can be read");
    let data = json::as_written(report.data).map_err(unreadable)?;
    Ok((data, report.collected_at))
}

/// A judgement whose texts may be shown to anybody, and whose codes are codes.
fn shown(judgement: Judgement) -> Result<Judgement, BadAnswer> {
    let findings =
        judgement.findings.map(|findings| findings.into_iter().map(named).collect()).transpose()?;
    if findings.as_ref().is_some_and(|findings: &Vec<NamedFinding>| findings.len() > FINDINGS) {
        return Err(BadAnswer("the judgement has more than 100 findings"));
    }
    Ok(Judgement { text: escape_guest(&judgement.text, TEXT_BYTES), findings, ..judgement })
}

fn named(finding: NamedFinding) -> Result<NamedFinding, BadAnswer> {
    let of_code = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !(1..=CODE_BYTES).contains(&finding.code.len()) || !finding.code.bytes().all(of_code) {
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

    fn judgement(code: &str, findings: usize) -> Judgement {
        let finding = NamedFinding { code: code.into(), level: Level::Warning, text: "a\nb".into() };
        Judgement { level: Level::Warning, text: "c\nd".into(), findings: Some(vec![finding; findings]) }
    }

    #[test]
    fn a_finding_needs_a_code_of_its_form() {
        let accepted = shown(judgement("mail-late-2", FINDINGS)).map(|judgement| judgement.findings);
        assert!(
            matches!(accepted, Ok(Some(findings)) if findings.iter().all(|found| !found.text.contains('\n')))
        );
        assert!(shown(judgement("mail-late", FINDINGS + 1)).is_err());
        for code in ["", "Mail", "a b", "a\"", "\u{e4}", &"a".repeat(CODE_BYTES + 1)] {
            assert!(shown(judgement(code, 1)).is_err(), "{code:?}");
        }
    }

    #[test]
    fn times_that_no_header_can_name_are_refused() {
        assert!(read(report(0.0)).is_ok() && read(report(1_791_000_000.5)).is_ok());
        for collected_at in [-1.0, YEAR_10000, 1e19, f64::MAX, f64::NAN, f64::INFINITY] {
            assert!(read(report(collected_at)).is_err(), "{collected_at}");
        }
    }
}
