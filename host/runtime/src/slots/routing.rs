//! Which versions of a slot calls are routed to, and how a traffic split chooses between them.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bulkhead_config::slots::SlotId;
use sha2::{Digest as _, Sha256};

use super::{Slot, SlotUnavailable, Version, World};

/// Buckets of the traffic split: a hundredth of a percent each.
const BUCKETS: u64 = 10_000;
/// 2^64 over the golden ratio: its multiples are spread evenly modulo 2^64, however few there are (Fibonacci hashing).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The share of calls that a candidate takes, percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u8);

impl Weight {
    /// Returns a share of 0 to 100 percent, or `None` above that.
    pub fn new(percent: u8) -> Option<Self> {
        (percent <= 100).then_some(Self(percent))
    }

    /// Returns the share, percent.
    pub const fn percent(self) -> u8 {
        self.0
    }

    /// Returns whether the candidate takes the calls of this bucket.
    fn includes(self, bucket: u64) -> bool {
        bucket < u64::from(self.0) * (BUCKETS / 100)
    }
}

/// The mode in which a candidate is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// The candidate takes this share of the calls.
    Canary(Weight),
    /// The candidate gets copies of calls, and its answers are never served.
    Shadow,
}

impl Trial {
    /// Returns the share of calls that the candidate takes, percent.
    pub const fn percent(self) -> u8 {
        match self {
            Self::Canary(weight) => weight.percent(),
            Self::Shadow => 0,
        }
    }
}

/// The versions that calls are routed to.
pub(super) enum Routing<W: World> {
    /// No version yet: the first one is being made ready.
    Starting,
    /// No version, for a reason that clients may see.
    Empty(&'static str),
    /// An active version, and perhaps a candidate.
    Versions(RoutedVersions<W>),
}

impl<W: World> Routing<W> {
    /// Returns the versions that the calls of `slot` are routed to.
    ///
    /// # Errors
    /// When the slot has no version.
    pub(super) fn versions(&self, slot: SlotId) -> Result<&RoutedVersions<W>, SlotUnavailable> {
        let slot = slot.as_str();
        match self {
            Self::Versions(versions) => Ok(versions),
            Self::Starting => Err(SlotUnavailable::Starting { slot }),
            Self::Empty(reason) => Err(SlotUnavailable::Empty { slot, reason }),
        }
    }
}

/// The active version, its candidate, and the predecessor that can take over at once.
pub(super) struct RoutedVersions<W: World> {
    pub(super) active: Arc<Version<W>>,
    pub(super) candidate: Option<(Arc<Version<W>>, Trial)>,
    /// The version that was active before, while its code is loaded.
    pub(super) predecessor: Option<Arc<Version<W>>>,
    fallen_back: AtomicBool,
    /// Whether the candidate gets no further calls.
    candidate_suspended: AtomicBool,
}

impl<W: World> RoutedVersions<W> {
    pub(super) const fn new(
        active: Arc<Version<W>>,
        candidate: Option<(Arc<Version<W>>, Trial)>,
        predecessor: Option<Arc<Version<W>>>,
    ) -> Self {
        let (fallen_back, candidate_suspended) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { active, candidate, predecessor, fallen_back, candidate_suspended }
    }

    /// Returns the active version, the candidate and the predecessor, as far as they exist.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Version<W>>> {
        let candidate = self.candidate.as_ref().map(|(candidate, _)| candidate);
        [Some(&self.active), candidate, self.predecessor.as_ref()].into_iter().flatten()
    }

    /// Returns the candidate that takes a share of the calls, with its weight.
    pub(super) fn canary(&self) -> Option<(&Arc<Version<W>>, Weight)> {
        match &self.candidate {
            Some((candidate, Trial::Canary(weight))) if !self.candidate_suspended.load(Ordering::Acquire) => {
                Some((candidate, *weight))
            }
            _ => None,
        }
    }

    /// Routes the calls of the active version to the predecessor. Returns false where none is loaded.
    pub(super) fn fall_back(&self) -> bool {
        self.fallen_back.store(true, Ordering::Release);
        self.has_fallen_back()
    }

    /// Returns whether the predecessor takes the calls of the active version.
    pub(super) fn has_fallen_back(&self) -> bool {
        let is_wanted = || self.fallen_back.load(Ordering::Acquire) || self.active.circuit.is_open();
        self.predecessor.is_some() && is_wanted()
    }

    /// Returns the version that takes the calls of the active one: the predecessor once the active one's circuit has
    /// opened.
    ///
    /// # Errors
    /// With the time until the next probe, where the circuits of all loaded versions are open.
    pub(super) fn stable(&self) -> Result<&Arc<Version<W>>, Duration> {
        if !self.active.circuit.is_open() && !self.has_fallen_back() {
            return Ok(&self.active);
        }
        let now = Instant::now();
        let predecessor = || self.predecessor.as_ref().filter(|version| version.circuit.admit(now).is_ok());
        if self.has_fallen_back()
            && let Some(predecessor) = predecessor()
        {
            return Ok(predecessor);
        }
        // The circuit may open between the two checks.
        let active = self.active.circuit.admit(now).map(|()| &self.active);
        active.or_else(|wait| predecessor().ok_or(wait))
    }
}

impl<W: World> Slot<W> {
    /// Routes the calls of the active version to the predecessor, if the active version has this serial. Returns false
    /// where no predecessor is loaded.
    pub fn fall_back(&self, serial: u64) -> bool {
        match &**self.routing.load() {
            Routing::Versions(versions) => versions.active.serial == serial && versions.fall_back(),
            Routing::Starting | Routing::Empty(_) => false,
        }
    }

    /// Stops routing calls to the candidate.
    pub fn suspend_candidate(&self) {
        if let Routing::Versions(versions) = &**self.routing.load() {
            versions.candidate_suspended.store(true, Ordering::Release);
        }
    }

    /// Returns whether the predecessor takes the calls of the active version.
    pub fn has_fallen_back(&self) -> bool {
        matches!(&**self.routing.load(), Routing::Versions(versions) if versions.has_fallen_back())
    }

    /// Routes every call that begins from now on to `version`.
    pub fn activate(&self, version: Arc<Version<W>>) {
        self.serve(version, None, None);
    }

    /// Splits every call that begins from now on between `active` and a candidate; a loaded `predecessor` takes over
    /// when the circuit of the active version opens. Versions that drop out lose their pooled instances and are freed
    /// with their last call.
    pub fn serve(
        &self,
        active: Arc<Version<W>>,
        candidate: Option<(Arc<Version<W>>, Trial)>,
        predecessor: Option<Arc<Version<W>>>,
    ) {
        self.metrics
            .versions(Some(active.labels()), candidate.as_ref().map(|(candidate, _)| candidate.labels()));
        self.metrics.weight(candidate.as_ref().map_or(0, |(_, trial)| trial.percent()));
        let versions = RoutedVersions::new(active, candidate, predecessor);
        let now: Vec<u64> = versions.all().map(|version| version.serial).collect();
        let before = self.routing.swap(Arc::new(Routing::Versions(versions)));
        if let Routing::Versions(before) = &*before {
            before.all().filter(|old| !now.contains(&old.serial)).for_each(|old| self.instances.retire(old));
        }
        if self.has_fallen_back() {
            self.rollback_check.notify_one();
        }
    }

    /// Replaces the predecessor, without a change of the other versions. One caller at a time.
    pub fn set_predecessor(&self, predecessor: Option<Arc<Version<W>>>) {
        if let Routing::Versions(RoutedVersions { active, candidate, .. }) = &**self.routing.load() {
            self.serve(Arc::clone(active), candidate.clone(), predecessor);
        }
    }
}

/// Splits calls between the active version and a candidate.
#[derive(Debug, Default)]
pub(super) struct TrafficSplit(AtomicU64);

impl TrafficSplit {
    /// Returns the bucket of a call. Calls with the same key have the same bucket on every host; calls without a key are
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

    /// Returns whether a candidate with this weight takes the call.
    pub(super) fn selects_candidate(&self, weight: Weight, slot: SlotId, key: Option<&[u8]>) -> bool {
        match weight.percent() {
            0 => false,
            100 => true,
            _ => weight.includes(self.bucket(slot, key)),
        }
    }
}
