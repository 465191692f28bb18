#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};

use super::{Slot, Version, World};
use crate::config::slots::SlotId;

/// Parts into which calls are divided: a hundredth of a percent each.
const BUCKETS: u64 = 10_000;
/// 2^64 over the golden ratio: its multiples fill the circle evenly, however few there are.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A candidate's share of the calls, percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u8);

impl Weight {
    /// A share of 0 to 100 percent.
    pub fn new(percent: u8) -> Option<Self> {
        (percent <= 100).then_some(Self(percent))
    }

    /// The share, percent.
    pub const fn percent(self) -> u8 {
        self.0
    }

    fn takes(self, bucket: u64) -> bool {
        bucket < u64::from(self.0) * (BUCKETS / 100)
    }
}

/// How a candidate is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It answers a share of the calls.
    Canary(Weight),
    /// It answers none and gets copies of them.
    Shadow,
}

impl Trial {
    /// The share of the calls that it answers, percent.
    pub const fn percent(self) -> u8 {
        match self {
            Self::Canary(weight) => weight.percent(),
            Self::Shadow => 0,
        }
    }
}

/// Which versions answer.
pub(super) enum Answering<W: World> {
    /// None, for a reason fit for clients.
    Nobody(&'static str),
    /// One, and perhaps another that is tried.
    Versions(Versions<W>),
}

/// The versions that answer, and the one that can take over at once.
pub(super) struct Versions<W: World> {
    pub(super) active: Arc<Version<W>>,
    pub(super) candidate: Option<(Arc<Version<W>>, Trial)>,
    /// The version that answered before, while its code is loaded.
    pub(super) predecessor: Option<Arc<Version<W>>>,
    fallen_back: AtomicBool,
    /// The candidate takes no calls any more.
    given_up: AtomicBool,
}

impl<W: World> Versions<W> {
    pub(super) const fn new(
        active: Arc<Version<W>>,
        candidate: Option<(Arc<Version<W>>, Trial)>,
        predecessor: Option<Arc<Version<W>>>,
    ) -> Self {
        let (fallen_back, given_up) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { active, candidate, predecessor, fallen_back, given_up }
    }

    /// Every version that is referred to.
    pub(super) fn each(&self) -> impl Iterator<Item = &Arc<Version<W>>> {
        let candidate = self.candidate.as_ref().map(|(candidate, _)| candidate);
        [Some(&self.active), candidate, self.predecessor.as_ref()].into_iter().flatten()
    }

    /// The candidate that answers a share of the calls.
    pub(super) fn canary(&self) -> Option<(&Arc<Version<W>>, Weight)> {
        match &self.candidate {
            Some((candidate, Trial::Canary(weight))) if !self.given_up.load(Ordering::Acquire) => {
                Some((candidate, *weight))
            }
            _ => None,
        }
    }

    /// Has the predecessor take the calls of the active version; false where none is loaded.
    pub(super) fn fall_back(&self) -> bool {
        self.fallen_back.store(true, Ordering::Release);
        self.has_fallen_back()
    }

    /// Whether the predecessor takes the calls of the active version.
    pub(super) fn has_fallen_back(&self) -> bool {
        let is_wanted = || self.fallen_back.load(Ordering::Acquire) || self.active.circuit.is_open();
        self.predecessor.is_some() && is_wanted()
    }

    /// The version that takes the calls of the active one: the predecessor once the active one's circuit has opened.
    ///
    /// # Errors
    /// The time until the next probe, where no version is loaded whose circuit is closed.
    pub(super) fn stable(&self, now: Instant) -> Result<&Arc<Version<W>>, Duration> {
        let predecessor = || self.predecessor.as_ref().filter(|version| version.circuit.admit(now).is_ok());
        if self.has_fallen_back()
            && let Some(predecessor) = predecessor()
        {
            return Ok(predecessor);
        }
        // The circuit may open between the two looks.
        let active = self.active.circuit.admit(now).map(|()| &self.active);
        active.or_else(|wait| predecessor().ok_or(wait))
    }
}

impl<W: World> Slot<W> {
    /// Has the predecessor take the calls of the active version, if that is the one with this serial; false where no
    /// predecessor is loaded.
    pub fn fall_back(&self, serial: u64) -> bool {
        match &**self.answering.load() {
            Answering::Versions(versions) => versions.active.serial == serial && versions.fall_back(),
            Answering::Nobody(_) => false,
        }
    }

    /// Gives the candidate no further calls.
    pub fn give_up_candidate(&self) {
        if let Answering::Versions(versions) = &**self.answering.load() {
            versions.given_up.store(true, Ordering::Release);
        }
    }

    /// Whether the predecessor takes the calls of the active version.
    pub fn has_fallen_back(&self) -> bool {
        matches!(&**self.answering.load(), Answering::Versions(versions) if versions.has_fallen_back())
    }

    /// Puts `version` in charge of every call that begins from now on.
    pub fn activate(&self, version: Arc<Version<W>>) {
        self.serve(version, None, None);
    }

    /// Divides every call that begins from now on between `active` and a candidate; a `predecessor` that is loaded takes
    /// over when the active version's circuit opens. Versions that were given before and are not now keep no instances,
    /// and are freed with their last call.
    pub fn serve(
        &self,
        active: Arc<Version<W>>,
        candidate: Option<(Arc<Version<W>>, Trial)>,
        predecessor: Option<Arc<Version<W>>>,
    ) {
        self.metrics
            .versions(Some(active.labels()), candidate.as_ref().map(|(candidate, _)| candidate.labels()));
        self.metrics.weight(candidate.as_ref().map_or(0, |(_, trial)| trial.percent()));
        let versions = Versions::new(active, candidate, predecessor);
        let now: Vec<u64> = versions.each().map(|version| version.serial).collect();
        let before = self.answering.swap(Arc::new(Answering::Versions(versions)));
        if let Answering::Versions(before) = &*before {
            before.each().filter(|old| !now.contains(&old.serial)).for_each(|old| self.kept.retire(old));
        }
        if self.has_fallen_back() {
            self.alarm.notify_one();
        }
    }

    /// Gives the versions that answer another predecessor, or none. One caller at a time.
    pub fn set_predecessor(&self, predecessor: Option<Arc<Version<W>>>) {
        if let Answering::Versions(Versions { active, candidate, .. }) = &**self.answering.load() {
            self.serve(Arc::clone(active), candidate.clone(), predecessor);
        }
    }
}

/// Divides calls between two versions.
#[derive(Debug, Default)]
pub(super) struct Division(AtomicU64);

impl Division {
    /// The part that a call falls into. Calls with one key fall into one part, on every host; those without are
    /// spread evenly.
    pub(super) fn bucket(&self, slot: SlotId, key: Option<&[u8]>) -> u64 {
        let number = match key {
            Some(key) => {
                let digest = Sha256::new_with_prefix(slot.as_str()).chain_update([0]).chain_update(key);
                digest.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
            None => self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(GOLDEN),
        };
        ((u128::from(number) * u128::from(BUCKETS)) >> 64) as u64
    }

    /// Whether a candidate with this weight takes the call.
    pub(super) fn candidate_takes(&self, weight: Weight, slot: SlotId, key: Option<&[u8]>) -> bool {
        match weight.percent() {
            0 => false,
            100 => true,
            _ => weight.takes(self.bucket(slot, key)),
        }
    }
}
