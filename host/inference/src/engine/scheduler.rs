//! Weighted fair queueing by tokens: whose work comes next. It knows no threads, no clock and no models.
//!
//! Each caller has a virtual time, which advances by the tokens of its turns over its weight. The caller whose time is
//! the earliest comes next. One that comes back begins at the present virtual time: it does not wait behind what others
//! have queued, and has saved nothing up. Of one caller's work, that comes first which would end first if the caller had
//! every thread for itself: short work precedes long work, and equal work keeps its order.

mod caller;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

pub use self::caller::{ByKind, Caller, CallerKind, Shares};

/// The most anonymous callers that are kept apart; more share one place. As many idle callers keep their virtual time.
const MOST_CALLERS: usize = 10_000;
/// The place of all further anonymous callers.
const FURTHER: CallerKey = (CallerKind::Anonymous, 0);

type CallerKey = (CallerKind, u64);

/// The work of all callers.
pub(super) struct Scheduler<W> {
    shares: Shares,
    /// The virtual time at which the last turn began.
    now: f64,
    waiting: HashMap<CallerKey, CallerQueue<W>>,
    /// Virtual times of callers without work, as far as they lie ahead.
    idle: HashMap<CallerKey, f64>,
    /// The added weights of waiting callers.
    weights: ByKind<f64>,
    pushed: u64,
}

/// A caller's work.
struct CallerQueue<W> {
    weight: f64,
    due: f64,
    /// Tokens of its turns since it came back.
    served: f64,
    works: Vec<QueuedWork<W>>,
}

struct QueuedWork<W> {
    number: u64,
    /// What `served` will be when it ends, if its turns come in order.
    end: f64,
    work: W,
}

/// Where work stands. It stays valid until the work is removed; the order is that of the moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkPlace {
    caller: CallerKey,
    number: u64,
    due: f64,
    /// Tokens of its caller's turns until it ends.
    until_end: f64,
}

impl WorkPlace {
    /// Compares by virtual time, then by size.
    fn order(&self, other: &Self) -> Ordering {
        let by_time = self.due.total_cmp(&other.due);
        by_time.then(self.until_end.total_cmp(&other.until_end)).then(self.number.cmp(&other.number))
    }
}

impl<W> Scheduler<W> {
    pub(super) fn new(shares: Shares) -> Self {
        Self {
            shares,
            now: 0.0,
            waiting: HashMap::new(),
            idle: HashMap::new(),
            weights: ByKind::default(),
            pushed: 0,
        }
    }

    /// Replaces the shares, for charges from now on.
    pub(super) const fn set_shares(&mut self, shares: Shares) {
        self.shares = shares;
    }

    /// Adds a caller's work of about so many tokens.
    pub(super) fn push(&mut self, caller: Caller, tokens: usize, work: W) -> WorkPlace {
        let key = self.key(caller);
        let weight = f64::from(caller.weight.max(1));
        self.pushed += 1;
        let number = self.pushed;
        let queue = match self.waiting.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let due = self.idle.remove(&key).unwrap_or(self.now).max(self.now);
                *self.weights.get_mut(key.0) += weight;
                entry.insert(CallerQueue { weight, due, served: 0.0, works: Vec::new() })
            }
        };
        let end = queue.served + tokens as f64;
        queue.works.push(QueuedWork { number, end, work });
        WorkPlace { caller: key, number, due: queue.due, until_end: tokens as f64 }
    }

    /// Returns the first of the work that `fits`.
    pub(super) fn first(&self, fits: impl Fn(&W) -> bool) -> Option<WorkPlace> {
        let mut first: Option<WorkPlace> = None;
        self.visit(fits, |place| {
            if first.is_none_or(|first| place.order(&first).is_lt()) {
                first = Some(place);
            }
        });
        first
    }

    /// Returns the work that `fits`, in order.
    pub(super) fn in_order(&self, fits: impl Fn(&W) -> bool) -> Vec<WorkPlace> {
        let mut places = Vec::new();
        self.visit(fits, |place| places.push(place));
        places.sort_unstable_by(WorkPlace::order);
        places
    }

    fn visit(&self, fits: impl Fn(&W) -> bool, mut found: impl FnMut(WorkPlace)) {
        for (caller, queue) in &self.waiting {
            for QueuedWork { number, end, .. } in queue.works.iter().filter(|queued| fits(&queued.work)) {
                let until_end = end - queue.served;
                found(WorkPlace { caller: *caller, number: *number, due: queue.due, until_end });
            }
        }
    }

    /// Returns all work, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &W> {
        self.waiting.values().flat_map(|queue| queue.works.iter().map(|queued| &queued.work))
    }

    /// Returns the work of a caller, in no order.
    pub(super) fn of_caller(&self, caller: Caller) -> impl Iterator<Item = &W> {
        let queue = self.waiting.get(&self.key(caller));
        queue.into_iter().flat_map(|queue| queue.works.iter().map(|queued| &queued.work))
    }

    /// Returns the work at a place, if it has not been removed.
    pub(super) fn get(&self, place: &WorkPlace) -> Option<&W> {
        let mut works = self.waiting.get(&place.caller)?.works.iter();
        works.find(|queued| queued.number == place.number).map(|queued| &queued.work)
    }

    /// Returns the work at a place, to be changed.
    pub(super) fn get_mut(&mut self, place: &WorkPlace) -> Option<&mut W> {
        let mut works = self.waiting.get_mut(&place.caller)?.works.iter_mut();
        works.find(|queued| queued.number == place.number).map(|queued| &mut queued.work)
    }

    /// Records that a turn begins, and that the work at `place` is the first of it.
    pub(super) fn begin_turn(&mut self, place: &WorkPlace) {
        self.now = self.now.max(place.due);
    }

    /// Charges a turn of so many tokens to the caller of the work at `place`.
    pub(super) fn charge(&mut self, place: &WorkPlace, tokens: usize) {
        let kind = place.caller.0;
        let share = self.shares.of(kind, self.weights.map(|weight| weight > 0.0));
        let weights = *self.weights.get(kind);
        if let Some(queue) = self.waiting.get_mut(&place.caller) {
            queue.served += tokens as f64;
            queue.due += tokens as f64 * weights / (queue.weight * share);
        }
    }

    /// Returns whether the work at `place` is due before the caller of another, which may have none left.
    pub(super) fn is_due_before(&self, place: &WorkPlace, other: &WorkPlace) -> bool {
        let idle = || self.idle.get(&other.caller).copied();
        let due = self.waiting.get(&other.caller).map(|queue| queue.due).or_else(idle);
        place.due <= due.unwrap_or(self.now)
    }

    /// Removes work.
    pub(super) fn remove(&mut self, place: &WorkPlace) -> Option<W> {
        let queue = self.waiting.get_mut(&place.caller)?;
        let index = queue.works.iter().position(|queued| queued.number == place.number)?;
        let removed = queue.works.swap_remove(index).work;
        if queue.works.is_empty() {
            self.retire(place.caller);
        }
        Some(removed)
    }

    /// Removes all work.
    pub(super) fn drain(&mut self) -> Vec<W> {
        self.weights = ByKind::default();
        let queues = std::mem::take(&mut self.waiting).into_values();
        queues.flat_map(|queue| queue.works).map(|queued| queued.work).collect()
    }

    /// Moves a caller without work to the idle ones.
    fn retire(&mut self, key: CallerKey) {
        let Some(queue) = self.waiting.remove(&key) else { return };
        *self.weights.get_mut(key.0) -= queue.weight;
        if queue.due <= self.now {
            return;
        }
        if self.idle.len() >= MOST_CALLERS {
            let now = self.now;
            self.idle.retain(|_, due| *due > now);
        }
        if self.idle.len() < MOST_CALLERS {
            self.idle.insert(key, queue.due);
        }
    }

    fn key(&self, caller: Caller) -> CallerKey {
        let key = (caller.kind, caller.id);
        let is_further = caller.kind == CallerKind::Anonymous
            && self.waiting.len() >= MOST_CALLERS
            && !self.waiting.contains_key(&key);
        if is_further { FURTHER } else { key }
    }
}
