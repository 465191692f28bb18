//! What waits, and the choice of the next turn.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::Stats;
use super::super::scheduler::{Scheduler, Shares, WorkPlace};
use super::super::work::{PendingWork, WorkOwner};
use super::{Batch, RunningBatch, Task};
use crate::model::{BATCH_TOKENS, LEAST_TOKENS, WorkGroup};

/// How many requests may fill a batch.
const LOOK_AHEAD: usize = 512;

/// Everything that waits.
pub(super) struct QueueState {
    pub(super) works: Scheduler<PendingWork>,
    pub(super) groups: VecDeque<Arc<WorkGroup>>,
    /// Threads that wait for something to do.
    pub(super) idle: usize,
    /// Threads that do not embed: they wait, or tokenize and will come for texts soon.
    pub(super) free: usize,
    pub(super) stopped: bool,
    pub(super) stats: Stats,
}

impl QueueState {
    pub(super) fn new(threads: usize, shares: Shares) -> Self {
        Self {
            works: Scheduler::new(shares),
            groups: VecDeque::new(),
            idle: 0,
            free: threads,
            stopped: false,
            stats: Stats::default(),
        }
    }

    /// Chooses the next task: help where a thread waits for it, else the next turn.
    pub(super) fn next(&mut self) -> Option<Task> {
        if let Some(group) = self.groups.pop_front() {
            return Some(Task::Help(group));
        }
        let task = self.turn(None);
        if let Some(Task::Embed(_)) = &task {
            self.free = self.free.saturating_sub(1);
        }
        task
    }

    /// Chooses the next turn, or one that may come in between if a batch is running. Enough texts for a full batch are
    /// tokenized first, and no more, so that the threads do not tokenize far ahead of what they embed.
    pub(super) fn turn(&mut self, running: Option<&RunningBatch>) -> Option<Task> {
        let fits = |work: &PendingWork| running.is_none_or(|running| running.yields_to(work));
        loop {
            let lead = self.works.first(|work| work.can_run() && fits(work))?;
            if running.is_some_and(|running| !self.works.is_due_before(&lead, &running.place)) {
                return None;
            }
            let work = self.works.get(&lead)?;
            if !work.is_live() {
                self.abandon(&lead);
                continue;
            }
            let (model, is_short) = (work.model().cloned(), work.is_short);
            let is_like = |work: &PendingWork| fits(work) && work.is_like(model.as_ref(), is_short);
            let piece = if work.ready.is_empty() {
                Some(lead)
            } else if self.ready_tokens(is_like) < BATCH_TOKENS {
                self.works.first(|work| !work.pieces.is_empty() && is_like(work))
            } else {
                None
            };
            let Some(place) = piece else {
                // Nothing comes of it if callers have left meanwhile.
                match self.batch(&lead, running, is_like) {
                    Some(batch) => return Some(Task::Embed(batch)),
                    None => continue,
                }
            };
            if self.works.get(&place).is_some_and(PendingWork::is_live) {
                return self.piece(&place);
            }
            self.abandon(&place);
        }
    }

    /// Returns whether another thread would find something to do.
    pub(super) fn has_more(&self) -> bool {
        !self.groups.is_empty() || self.works.iter().any(PendingWork::can_run)
    }

    /// Removes work whose callers no longer wait.
    pub(super) fn forget_abandoned(&mut self) {
        for place in self.works.in_order(|work| !work.is_live()) {
            self.abandon(&place);
        }
    }

    /// Counts the places of work that begins to wait.
    pub(super) fn add_waiting(&mut self, work: &PendingWork, places: usize) {
        self.stats.waiting_texts += places;
        *self.stats.waiting_by_kind.get_mut(work.kind) += places;
    }

    fn subtract_waiting(&mut self, place: &WorkPlace, places: usize) {
        self.stats.waiting_texts = self.stats.waiting_texts.saturating_sub(places);
        if let Some(work) = self.works.get(place) {
            let waiting = self.stats.waiting_by_kind.get_mut(work.kind);
            *waiting = waiting.saturating_sub(places);
        }
    }

    fn abandon(&mut self, place: &WorkPlace) {
        let places = self.works.get(place).map_or(0, PendingWork::places);
        self.subtract_waiting(place, places);
        self.works.remove(place);
    }

    fn remove_if_done(&mut self, place: &WorkPlace) {
        if self.works.get(place).is_some_and(PendingWork::is_done) {
            self.works.remove(place);
        }
    }

    fn ready_tokens(&self, is_like: impl Fn(&PendingWork) -> bool) -> usize {
        self.works.iter().filter(|work| is_like(work)).map(|work| work.ready_tokens).sum()
    }

    /// Takes the next piece of a request.
    fn piece(&mut self, place: &WorkPlace) -> Option<Task> {
        let turns = self.stats.turns;
        let work = self.works.get_mut(place)?;
        let (piece, places, tokens) = work.take_piece()?;
        let task = match &work.owner {
            WorkOwner::Texts(job) => {
                if !job.model.batches() {
                    job.started(turns);
                }
                Task::Tokenize(Arc::clone(job), piece.texts, *place)
            }
            WorkOwner::Tasks(task) => Task::PerText(Arc::clone(task), piece.texts.start),
        };
        self.subtract_waiting(place, places);
        self.works.begin_turn(place);
        self.works.charge(place, tokens);
        self.remove_if_done(place);
        self.stats.turns += 1;
        Some(task)
    }

    /// Takes the texts of the first request, and with them those of others that are alike, up to this thread's share.
    fn batch(
        &mut self,
        lead: &WorkPlace,
        running: Option<&RunningBatch>,
        is_like: impl Fn(&PendingWork) -> bool + Copy,
    ) -> Option<Batch> {
        let most = self.works.get(lead)?.model()?.turn_tokens();
        let most = running.map_or(most, |running| most.min(running.tokens / 2));
        let share = self.share(self.ready_tokens(is_like), most);
        let (turns, mut texts, mut tokens) = (self.stats.turns, Vec::new(), 0);
        let places = self.works.in_order(|work| !work.ready.is_empty() && is_like(work));
        for place in places.iter().take(LOOK_AHEAD) {
            if tokens >= share {
                break;
            }
            let Some(work) = self.works.get_mut(place) else { continue };
            if !work.is_live() {
                self.abandon(place);
                continue;
            }
            let before = texts.len();
            let taken = work.fill(&mut texts, tokens, share, most);
            if taken == 0 {
                continue;
            }
            if let WorkOwner::Texts(job) = &work.owner {
                job.started(turns);
            }
            tokens += taken;
            self.subtract_waiting(place, texts.len() - before);
            self.works.charge(place, taken);
            self.remove_if_done(place);
        }
        if texts.is_empty() {
            return None;
        }
        self.works.begin_turn(lead);
        self.stats.turns += 1;
        let lone = texts.len() == 1 && running.is_none() && !self.has_more();
        Some(Batch {
            texts,
            helpers: if lone { self.idle } else { 0 },
            running: RunningBatch { place: *lead, tokens },
        })
    }

    /// Returns the tokens of the next batch out of so many: equal shares for all free threads, in batches of at most
    /// `most`.
    fn share(&self, ready_tokens: usize, most: usize) -> usize {
        let batches = ready_tokens.div_ceil(most.max(1)).next_multiple_of(self.free.max(1));
        ready_tokens.div_ceil(batches.max(1)).max(LEAST_TOKENS)
    }
}
