use std::sync::Arc;

use serde::Serialize;

use super::{Book, Record, SharedView, Stage, VersionId};
use crate::slots::{Findings, Slot, Trial, Version, World, revision};

/// What a slot does now.
#[derive(Clone, Debug, Serialize)]
pub struct SlotView {
    /// Its name.
    pub slot: &'static str,
    /// The world of its components.
    pub world: &'static str,
    /// Whoever changes the slot names this number.
    pub generation: u64,
    /// What answers.
    pub active: Option<VersionView>,
    /// What is tried.
    pub candidate: Option<VersionView>,
    /// What a rollback goes back to.
    pub predecessor: Option<Record>,
    /// Why nothing answers.
    pub empty: Option<String>,
    /// Whether this is on disk; else a restart brings back what was before, until it is.
    pub kept: bool,
    /// Where this host stands, where it shares its state with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedView>,
    /// The revision of the slot's settings, for versions that are pushed now.
    pub revision: String,
}

/// A component that was pushed and may answer. One that is the candidate already stands in that stage, and nothing has
/// changed.
#[derive(Clone, Debug, Serialize)]
pub struct Pushed {
    /// What became of it.
    #[serde(flatten)]
    pub record: Record,
    /// It answers calls already, so that nothing has changed.
    pub answering: bool,
}

impl Pushed {
    /// Whether the push has brought a version that was neither active nor the candidate.
    pub fn is_new(&self) -> bool {
        !self.answering && self.record.stage() != Stage::Candidate
    }
}

/// What came of the copies of calls.
#[derive(Clone, Debug, Serialize)]
pub struct ShadowView {
    /// The slot.
    pub slot: &'static str,
    /// The candidate in shadow.
    pub version: VersionId,
    /// The figures.
    #[serde(flatten)]
    pub findings: Findings,
}

impl ShadowView {
    pub(super) fn new<W: World>(slot: &Slot<W>, book: &Book) -> Option<Self> {
        let candidate = book.candidate.as_ref().filter(|candidate| candidate.shadow)?;
        let (version, _) = slot.candidate()?;
        let findings = slot.findings(&version);
        Some(Self { slot: slot.name().as_str(), version: candidate.version.clone(), findings })
    }
}

/// A version that answers.
#[derive(Clone, Debug, Serialize)]
pub struct VersionView {
    /// What became of it.
    #[serde(flatten)]
    pub record: Record,
    /// Its share of the calls, percent.
    pub weight: u8,
    /// It answers none and gets copies of them.
    pub shadow: bool,
    /// Calls that have ended since it was loaded.
    pub calls: u64,
    /// Of them, those that the sandbox ended.
    pub failures: u64,
    /// Of them, those that it answered with an error.
    pub errors: u64,
    /// Calls that run now.
    pub in_flight: u64,
    /// Calls are kept from it because one after the other has failed.
    pub circuit_open: bool,
}

impl VersionView {
    fn new<W: World>(record: Record, version: &Version<W>, weight: u8, shadow: bool) -> Self {
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
    /// The generation that the slot has, or should have where hosts share their state.
    pub fn latest(&self) -> u64 {
        let desired = self.shared.as_ref().and_then(|shared| shared.desired);
        desired.map_or(self.generation, |desired| desired.max(self.generation))
    }

    pub(super) fn new<W: World>(
        slot: &Slot<W>,
        book: &Book,
        empty: Option<String>,
        unwritten: Option<String>,
        shared: Option<SharedView>,
    ) -> Self {
        let candidate = slot.candidate();
        let weight = candidate.as_ref().map_or(0, |(_, trial)| trial.percent());
        let active = book.active().cloned().zip(slot.active().ok());
        let tried = book.candidate.as_ref().and_then(|candidate| book.get(&candidate.version)).cloned();
        let view = |(record, (version, trial)): (Record, (Arc<Version<W>>, Trial))| {
            VersionView::new(record, &version, trial.percent(), trial == Trial::Shadow)
        };
        Self {
            slot: slot.name().as_str(),
            world: W::NAME,
            generation: book.generation,
            active: active.map(|(record, version)| VersionView::new(record, &version, 100 - weight, false)),
            candidate: tried.zip(candidate).map(view),
            predecessor: book.before.last().and_then(|id| book.get(id)).cloned(),
            empty,
            kept: unwritten.is_none(),
            shared,
            revision: revision(&slot.settings()),
        }
    }
}
