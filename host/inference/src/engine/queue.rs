//! The queue of requests, and the choice of a thread's next turn.
//!
//! A turn tokenizes a piece of a request, or embeds a batch. The scheduler says whose turn comes; a batch begins with
//! that request's texts, and others of the same model fill it in the scheduler's order. Short work and long work are
//! not mixed. Between two steps of a batch its thread takes turns of short work that is due earlier.

mod state;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use self::state::QueueState;
use super::scheduler::{ByKind, Caller, Shares, WorkPlace};
use super::work::{PendingWork, TokenizedText, WorkOwner};
use super::{BatchObserver, Failure, Stats, job::Job, per_text::TextTask};
use crate::model::WorkGroup;

/// The part of the queue that a kind of callers has where others fill it: a quarter.
const KIND_PART: usize = 4;
/// The part that a caller has where others fill the queue and its kind's part, while all parts together are no more than
/// the queue again.
const CALLER_PART: usize = 64;

/// What a thread does next.
pub(super) enum Task {
    /// Turn these texts of a job into ids, and give them back to their place.
    Tokenize(Arc<Job>, Range<usize>, WorkPlace),
    /// Work on this one text of a request.
    PerText(Arc<dyn TextTask>, usize),
    /// Embed texts.
    Embed(Batch),
    /// Help another thread with its text.
    Help(Arc<WorkGroup>),
}

/// Texts of one model that are embedded together.
pub(super) struct Batch {
    pub(super) texts: Vec<TokenizedText>,
    /// Threads that have nothing else to do.
    pub(super) helpers: usize,
    pub(super) running: RunningBatch,
}

/// A batch that a thread works on: what may come in between is due earlier and at most half as large.
#[derive(Clone, Copy)]
pub(super) struct RunningBatch {
    place: WorkPlace,
    tokens: usize,
}

impl RunningBatch {
    fn yields_to(&self, work: &PendingWork) -> bool {
        work.tokens <= self.tokens / 2
    }
}

pub(super) struct Queue {
    capacity: usize,
    threads: usize,
    state: Mutex<QueueState>,
    work_available: Condvar,
    observer: OnceLock<BatchObserver>,
}

impl Queue {
    pub(super) fn new(capacity: usize, threads: usize, shares: Shares) -> Self {
        let state = Mutex::new(QueueState::new(threads, shares));
        Self { capacity, threads, state, work_available: Condvar::new(), observer: OnceLock::new() }
    }

    pub(super) fn submit(&self, caller: Caller, job: &Arc<Job>) -> Result<(), Failure> {
        self.admit(caller, PendingWork::of_texts(caller.kind, job))
    }

    /// Queues a job as [`submit`](Self::submit) does, and returns its first turn for the calling thread, if nothing else
    /// waits and an idle thread would take it.
    pub(super) fn submit_here(&self, caller: Caller, job: &Arc<Job>) -> Result<Option<Task>, Failure> {
        let work = PendingWork::of_texts(caller.kind, job);
        let Some(mut state) = self.admitted(caller, work)? else { return Ok(None) };
        let is_alone = state.groups.is_empty() && state.works.iter().nth(1).is_none();
        let task = if is_alone && state.idle > 0 { state.next() } else { None };
        let has_more = state.has_more();
        drop(state);
        if has_more {
            self.work_available.notify_one();
        }
        Ok(task)
    }

    /// Queues texts of so many bytes that are worked on one by one.
    pub(super) fn submit_tasks(
        &self,
        caller: Caller,
        task: &Arc<dyn TextTask>,
        bytes: &[usize],
    ) -> Result<(), Failure> {
        self.admit(caller, PendingWork::of_tasks(caller.kind, task, bytes))
    }

    fn admit(&self, caller: Caller, work: PendingWork) -> Result<(), Failure> {
        if let Some(state) = self.admitted(caller, work)? {
            drop(state);
            self.work_available.notify_one();
        }
        Ok(())
    }

    /// Adds work, and returns the state with it; `None` if there is nothing to do.
    fn admitted(
        &self,
        caller: Caller,
        work: PendingWork,
    ) -> Result<Option<MutexGuard<'_, QueueState>>, Failure> {
        let places = work.places();
        let mut state = self.lock();
        let waiting = state.stats.waiting_texts;
        if state.stopped {
            return Err(Failure::Stopped);
        }
        if places == 0 {
            return Ok(None);
        }
        if waiting > 0 && waiting.saturating_add(places) > self.capacity {
            state.forget_abandoned();
            if !self.has_room(&state, caller, places) {
                let (waiting, backlog) = (state.stats.waiting_texts, self.backlog_of(&state));
                return Err(Failure::Overloaded { waiting, backlog });
            }
        }
        if let WorkOwner::Texts(job) = &work.owner {
            job.admitted(state.stats.turns);
        }
        state.add_waiting(&work, places);
        let tokens = work.tokens;
        state.works.push(caller, tokens, work);
        Ok(Some(state))
    }

    /// Returns whether so many more places of a caller fit: into the queue, or, where others fill it, into the part of the
    /// caller's kind or into its own. A request larger than the whole queue is let in when nothing else waits: refusing it
    /// would be for ever.
    fn has_room(&self, state: &QueueState, caller: Caller, places: usize) -> bool {
        let waiting = state.stats.waiting_texts;
        let of_kind = *state.stats.waiting_by_kind.get(caller.kind);
        let fits = |waiting: usize, capacity: usize| waiting.saturating_add(places) <= capacity;
        // Counted only where the queue and the kind's part are full.
        let own = || state.works.of_caller(caller).map(PendingWork::places).sum();
        waiting == 0
            || fits(waiting, self.capacity)
            || fits(of_kind, self.capacity / KIND_PART)
            || fits(waiting, self.capacity.saturating_mul(2)) && fits(own(), self.capacity / CALLER_PART)
    }

    /// Waits for something to do; `None` once the engine has stopped.
    pub(super) fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(task) = state.next() {
                if state.idle > 0 && state.has_more() {
                    // Each thread that takes something wakes the next.
                    self.work_available.notify_one();
                }
                return Some(task);
            }
            state.idle += 1;
            state = self.work_available.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Returns what comes in between while a thread works on a batch, if anything does.
    pub(super) fn next_between(&self, running: &RunningBatch) -> Option<Task> {
        let mut state = self.lock();
        if state.stopped { None } else { state.turn(Some(running)) }
    }

    /// Takes back the texts of a piece that a thread has tokenized. It comes for some of them itself.
    pub(super) fn give_back(&self, place: &WorkPlace, texts: Vec<TokenizedText>) {
        let mut state = self.lock();
        let count = texts.len();
        let Some(work) = state.works.get_mut(place) else { return };
        work.give_back(texts);
        let (kind, is_done) = (work.kind, work.is_done());
        state.stats.waiting_texts += count;
        *state.stats.waiting_by_kind.get_mut(kind) += count;
        if is_done {
            state.works.remove(place);
        }
    }

    /// Asks up to so many idle threads to help.
    pub(super) fn help(&self, group: &Arc<WorkGroup>, threads: usize) {
        let mut state = self.lock();
        for _ in 0..threads {
            state.groups.push_back(Arc::clone(group));
        }
        drop(state);
        self.work_available.notify_one();
    }

    /// Records that the thread that was given texts has embedded them.
    pub(super) fn is_free(&self) {
        self.lock().free += 1;
    }

    /// Replaces the shares of the kinds of callers.
    pub(super) fn set_shares(&self, shares: Shares) {
        self.lock().works.set_shares(shares);
    }

    /// Has an observer see each batch from now on, unless one does.
    pub(super) fn observe(&self, observer: BatchObserver) {
        let _ = self.observer.set(observer);
    }

    /// Counts a batch.
    pub(super) fn embedded(&self, texts: usize, tokens: usize) {
        if let Some(observe) = self.observer.get() {
            observe(texts, tokens);
        }
        let stats = &mut self.lock().stats;
        stats.batches += 1;
        stats.texts += texts as u64;
        stats.tokens += tokens as u64;
    }

    pub(super) fn stats(&self) -> Stats {
        self.lock().stats
    }

    /// Returns how long the threads need for what waits, as far as the speed of its models is known.
    pub(super) fn backlog(&self) -> Duration {
        self.backlog_of(&self.lock())
    }

    fn backlog_of(&self, state: &QueueState) -> Duration {
        let seconds: f64 = state.works.iter().map(PendingWork::seconds).sum();
        Duration::try_from_secs_f64(seconds / self.threads.max(1) as f64).unwrap_or(Duration::MAX)
    }

    /// Fails everything that waits and ends the threads.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        let works = state.works.drain();
        state.stats.waiting_texts = 0;
        state.stats.waiting_by_kind = ByKind::default();
        drop(state);
        works.iter().for_each(|work| work.fail(Failure::Stopped));
        self.work_available.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
