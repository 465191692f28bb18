//! Views of slots and versions, as the operators' API returns them.

use std::sync::Arc;

use bulkhead_runtime::slots::{ShadowReport, Slot, Trial, Version, World, revision};
use serde::Serialize;

use crate::{SharedView, SlotState, Stage, VersionId, VersionRecord};

/// A slot as operators see it.
#[derive(Clone, Debug, Serialize)]
pub struct SlotView {
    /// Its name.
    pub slot: &'static str,
    /// The world of its components.
    pub world: &'static str,
    /// The number that a change must name.
    pub generation: u64,
    /// The active version.
    pub active: Option<VersionView>,
    /// The candidate.
    pub candidate: Option<VersionView>,
    /// The version that a rollback returns to.
    pub predecessor: Option<VersionRecord>,
    /// Why no version answers.
    pub empty: Option<String>,
    /// Whether this state is on disk; until it is, a restart restores the previous one.
    pub kept: bool,
    /// How this host compares with the shared state, if hosts share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedView>,
    /// The revision of the slot's settings, for versions that are pushed now.
    pub revision: String,
}

/// The result of a push of a component that may answer. If it is the candidate already, nothing has changed.
#[derive(Clone, Debug, Serialize)]
pub struct Pushed {
    /// The version's record.
    #[serde(flatten)]
    pub record: VersionRecord,
    /// It answers calls already, so that nothing has changed.
    pub answering: bool,
}

impl Pushed {
    /// Returns whether the pushed version is neither active nor the candidate.
    pub fn is_new(&self) -> bool {
        !self.answering && self.record.stage() != Stage::Candidate
    }
}

/// The findings of a shadow.
#[derive(Clone, Debug, Serialize)]
pub struct ShadowView {
    /// The slot.
    pub slot: &'static str,
    /// The candidate in shadow.
    pub version: VersionId,
    /// The findings.
    #[serde(flatten)]
    pub findings: ShadowReport,
}

impl ShadowView {
    pub(crate) fn new<W: World>(slot: &Slot<W>, state: &SlotState) -> Option<Self> {
        let candidate = state.candidate.as_ref().filter(|candidate| candidate.shadow)?;
        let (version, _) = slot.candidate()?;
        let findings = slot.shadow_report(&version);
        Some(Self { slot: slot.name().as_str(), version: candidate.version.clone(), findings })
    }
}

/// The active version or the candidate.
#[derive(Clone, Debug, Serialize)]
pub struct VersionView {
    /// The version's record.
    #[serde(flatten)]
    pub record: VersionRecord,
    /// Its share of the calls, percent.
    pub weight: u8,
    /// It receives copies of calls and answers none.
    pub shadow: bool,
    /// Completed calls since it was loaded.
    pub calls: u64,
    /// Completed calls that the sandbox ended.
    pub failures: u64,
    /// Completed calls that it answered with an error.
    pub errors: u64,
    /// Running calls.
    pub in_flight: u64,
    /// Its circuit breaker is open: calls are routed elsewhere because too many in a row have failed.
    pub circuit_open: bool,
}

impl VersionView {
    fn new<W: World>(record: VersionRecord, version: &Version<W>, weight: u8, shadow: bool) -> Self {
        let counts = version.tally.counts();
        Self {
            record,
            weight,
            shadow,
            calls: counts.calls,
            failures: counts.failures,
            errors: counts.errors,
            in_flight: version.tally.running(),
            circuit_open: version.circuit.is_open(),
        }
    }
}

impl SlotView {
    /// Returns the slot's generation, or the desired one if hosts share their state.
    pub fn latest(&self) -> u64 {
        let desired = self.shared.as_ref().and_then(|shared| shared.desired);
        desired.map_or(self.generation, |desired| desired.max(self.generation))
    }

    pub(crate) fn new<W: World>(
        slot: &Slot<W>,
        state: &SlotState,
        empty: Option<String>,
        unsaved_reason: Option<String>,
        shared: Option<SharedView>,
    ) -> Self {
        let candidate = slot.candidate();
        let weight = candidate.as_ref().map_or(0, |(_, trial)| trial.percent());
        let active = state.active().cloned().zip(slot.active().ok());
        let tried = state.candidate.as_ref().and_then(|candidate| state.get(&candidate.version)).cloned();
        let view = |(record, (version, trial)): (VersionRecord, (Arc<Version<W>>, Trial))| {
            VersionView::new(record, &version, trial.percent(), trial == Trial::Shadow)
        };
        Self {
            slot: slot.name().as_str(),
            world: W::NAME,
            generation: state.generation,
            active: active.map(|(record, version)| VersionView::new(record, &version, 100 - weight, false)),
            candidate: tried.zip(candidate).map(view),
            predecessor: state.previous.last().and_then(|id| state.get(id)).cloned(),
            empty,
            kept: unsaved_reason.is_none(),
            shared,
            revision: revision(&slot.settings()),
        }
    }
}
