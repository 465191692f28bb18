use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Shared, jittered};
use crate::{config::slots::SlotId, deploy::Book};

/// Longest pause before a version that may not answer here is tried again.
const LONGEST: Duration = Duration::from_secs(300);

/// A slot beside what the hosts share.
#[derive(Clone, Debug, Serialize)]
pub struct SharedView {
    /// The generation that all hosts should have; none before the database has been asked once.
    pub desired: Option<u64>,
    /// The generation that answers here.
    pub applied: u64,
    /// Why the two differ, where this host does not follow.
    pub behind: Option<String>,
    /// Why the database cannot be asked; none while it can.
    pub away: Option<String>,
}

/// Where a slot of this host stands.
#[derive(Debug, Default)]
pub(in crate::deploy) struct Standing {
    /// The row has been read since the start.
    pub(super) read: bool,
    /// Components that the book names are not all here.
    pub(super) incomplete: bool,
    behind: Option<Behind>,
    /// The stamp of what could not be taken, for another reason than that it may not answer.
    failed: Option<String>,
    /// That is because it cannot be read.
    unreadable: bool,
}

#[derive(Debug)]
struct Behind {
    applied: u64,
    reason: String,
    tries: u32,
    again: Instant,
}

impl Standing {
    /// The desired generation answers here.
    pub(super) fn follows(&mut self) {
        (self.behind, self.failed, self.unreadable) = (None, None, false);
    }

    /// What has this stamp could not be taken.
    pub(super) fn fails(&mut self, stamp: String, applied: u64, reason: String, poll: Duration) {
        self.falls_behind(applied, reason, poll);
        self.failed = Some(stamp);
    }

    /// What has this stamp cannot be read.
    pub(super) fn cannot_read(&mut self, stamp: String, applied: u64, reason: String, poll: Duration) {
        self.fails(stamp, applied, reason, poll);
        self.unreadable = true;
    }

    /// Whether what all hosts should have cannot be read.
    pub(super) fn is_unreadable(&self) -> bool {
        self.unreadable
    }

    /// Whether it is too early to try again what has this stamp.
    pub(super) fn is_early(&self, stamp: &str) -> bool {
        self.failed.as_deref() == Some(stamp)
            && self.behind.as_ref().is_some_and(|behind| behind.again > Instant::now())
    }

    /// It does not, and why. What answers is that of `applied`, or still that of an earlier failure.
    pub(super) fn falls_behind(&mut self, applied: u64, reason: String, poll: Duration) {
        self.unreadable = false;
        let before = self.behind.take();
        let tries = before.as_ref().map_or(0, |before| before.tries.saturating_add(1));
        let pause = poll.saturating_mul(1 << tries.min(16)).min(LONGEST);
        let applied = before.map_or(applied, |before| before.applied);
        self.behind = Some(Behind { applied, reason, tries, again: Instant::now() + jittered(pause) });
    }

    /// Whether it does not. What nobody can read is as if the database were away.
    pub(super) fn is_behind(&self) -> bool {
        self.behind.is_some() && !self.unreadable
    }

    /// Whether it is time to look at the book anew, though it is the same.
    pub(super) fn is_due(&self) -> bool {
        !self.read || self.behind.as_ref().is_some_and(|behind| behind.again <= Instant::now())
    }

    pub(super) fn view(&self, shared: &Shared, slot: SlotId, book: &Book) -> SharedView {
        let heads = shared.heads.borrow();
        let none = heads.known.then_some(book.generation);
        SharedView {
            desired: heads.slots.get(slot.as_str()).map_or(none, |head| head.generation),
            applied: self.behind.as_ref().map_or(book.generation, |behind| behind.applied),
            behind: self.behind.as_ref().map(|behind| behind.reason.clone()),
            away: heads.away.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_row_that_cannot_be_read_is_tried_seldom_and_is_as_if_away() {
        let mut standing = Standing::default();
        let (poll, damaged) = (Duration::from_secs(60), || "damaged".to_owned());
        standing.cannot_read("stamp".into(), 7, damaged(), poll);
        assert!(standing.is_unreadable() && !standing.is_behind());
        assert_eq!(standing.behind.as_ref().map(|behind| behind.reason.as_str()), Some("damaged"));
        assert!(standing.is_early("stamp") && !standing.is_early("another"));
        standing.falls_behind(7, "it is not signed".into(), poll);
        assert!(standing.is_behind() && !standing.is_unreadable());
        standing.cannot_read("stamp".into(), 7, damaged(), poll);
        standing.follows();
        assert!(!standing.is_unreadable() && !standing.is_early("stamp"));
    }

    #[test]
    fn tries_grow_seldom_and_what_answers_is_remembered() {
        let mut standing = Standing::default();
        assert!(standing.is_due(), "nothing has been read");
        standing.read = true;
        assert!(!standing.is_due());
        standing.falls_behind(7, "first".into(), Duration::ZERO);
        assert!(standing.is_due());
        let mut last = Duration::ZERO;
        for _ in 0..40 {
            standing.falls_behind(9, "again".into(), Duration::from_secs(1));
            let behind = standing.behind.as_ref().unwrap();
            assert_eq!(behind.applied, 7);
            let pause = behind.again.saturating_duration_since(Instant::now());
            assert!(pause <= LONGEST.mul_f64(1.1));
            last = pause;
        }
        assert!(last > LONGEST / 2 && !standing.is_due());
        standing.follows();
        assert!(standing.behind.is_none());
    }
}
