use std::sync::Arc;

use serde::Serialize;

use super::{Book, Record};
use crate::slots::{Slot, Version, Weight, World};

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
    /// What is tried on a share of the calls.
    pub candidate: Option<VersionView>,
    /// What a rollback goes back to.
    pub predecessor: Option<Record>,
    /// Why nothing answers.
    pub empty: Option<String>,
    /// The revision of the slot's settings, for versions that are pushed now.
    pub revision: String,
}

/// A version that answers.
#[derive(Clone, Debug, Serialize)]
pub struct VersionView {
    /// What became of it.
    #[serde(flatten)]
    pub record: Record,
    /// Its share of the calls, percent.
    pub weight: u8,
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
    fn new<W: World>(record: Record, version: &Version<W>, weight: u8) -> Self {
        let counts = version.tally.counts();
        Self {
            record,
            weight,
            calls: counts.calls,
            failures: counts.failures,
            errors: counts.errors,
            in_flight: version.tally.running(),
            circuit_open: version.circuit.is_open(),
        }
    }
}

impl SlotView {
    pub(super) fn new<W: World>(slot: &Slot<W>, book: &Book, empty: Option<String>) -> Self {
        let candidate = slot.candidate();
        let weight = candidate.as_ref().map_or(0, |(_, weight)| weight.percent());
        let active = book.active().cloned().zip(slot.active().ok());
        let tried = book.candidate.as_ref().and_then(|candidate| book.get(&candidate.version)).cloned();
        let view = |(record, (version, weight)): (Record, (Arc<Version<W>>, Weight))| {
            VersionView::new(record, &version, weight.percent())
        };
        Self {
            slot: slot.name().as_str(),
            world: W::NAME,
            generation: book.generation,
            active: active.map(|(record, version)| VersionView::new(record, &version, 100 - weight)),
            candidate: tried.zip(candidate).map(view),
            predecessor: book.before.last().and_then(|id| book.get(id)).cloned(),
            empty,
            revision: super::record::revision(&slot.settings),
        }
    }
}
