//! The queue of texts, and the choice of a thread's next task.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Failure, Input, Stats, job::Job, per_text::TextTask};
use crate::model::{BATCH_TOKENS, WorkGroup};

/// Texts of a request that one thread tokenises in one go, or fewer that have so many bytes: enough to be worth the
/// trip, few enough that a large request is spread over the threads.
const PIECE_TEXTS: usize = 32;
const PIECE_BYTES: usize = 4096;

/// Fewer tokens are not worth a thread: to read the weights costs as much as to multiply so few rows by them.
const SHARE_TOKENS: usize = 32;

/// How far down the queue a batch looks for more texts of its model.
const LOOK_AHEAD: usize = 512;

/// A text with its token ids.
pub(super) struct TokenizedText {
    pub(super) job: Arc<Job>,
    pub(super) index: usize,
    pub(super) ids: Vec<u32>,
}

/// What a thread does next.
pub(super) enum Task {
    /// Turn these texts of a job into ids.
    Tokenize(Arc<Job>, Range<usize>),
    /// Work on this one text of a request.
    PerText(Arc<dyn TextTask>, usize),
    /// Embed these texts, all of one model; so many other threads have nothing to do.
    Embed(Vec<TokenizedText>, usize),
    /// Help another thread with its text.
    Help(Arc<WorkGroup>),
}

/// Texts of one request that one thread takes in one go.
enum Piece {
    Tokenize(Arc<Job>, Range<usize>),
    /// One text outside batches, and the places that it takes.
    PerText(Arc<dyn TextTask>, usize, usize),
}

impl Piece {
    /// Returns the places that the piece takes in the queue.
    fn places(&self) -> usize {
        match self {
            Self::Tokenize(_, texts) => texts.len(),
            Self::PerText(_, _, places) => *places,
        }
    }

    fn is_live(&self) -> bool {
        match self {
            Self::Tokenize(job, _) => job.is_live(),
            Self::PerText(job, ..) => job.is_live(),
        }
    }

    fn fail(&self, failure: Failure) {
        match self {
            Self::Tokenize(job, _) => job.fail(failure),
            Self::PerText(job, ..) => job.fail(failure),
        }
    }
}

pub(super) struct Queue {
    capacity: usize,
    state: Mutex<QueueState>,
    work_available: Condvar,
}

#[derive(Default)]
struct QueueState {
    pieces: VecDeque<Piece>,
    ready: VecDeque<TokenizedText>,
    ready_tokens: usize,
    groups: VecDeque<Arc<WorkGroup>>,
    /// Threads that wait for something to do.
    idle: usize,
    /// Threads that do not embed: they wait, or tokenise and will come for texts soon.
    free: usize,
    stopped: bool,
    stats: Stats,
}

impl Queue {
    pub(super) fn new(capacity: usize, threads: usize) -> Self {
        let state = QueueState { free: threads, ..QueueState::default() };
        Self { capacity, state: Mutex::new(state), work_available: Condvar::new() }
    }

    pub(super) fn submit(&self, job: &Arc<Job>) -> Result<(), Failure> {
        let texts = &job.request.texts;
        let pieces = pieces(texts).into_iter().map(|piece| Piece::Tokenize(Arc::clone(job), piece));
        self.admit(texts.len(), pieces)
    }

    /// Queues texts of so many bytes that are worked on one by one. No limit of tokens cuts these, so that a long
    /// text takes a place for each [`PIECE_BYTES`].
    pub(super) fn submit_tasks(&self, job: &Arc<dyn TextTask>, bytes: &[usize]) -> Result<(), Failure> {
        let places = |bytes: &usize| bytes.div_ceil(PIECE_BYTES).max(1);
        let pieces = bytes.iter().map(places).enumerate();
        let pieces = pieces.map(|(index, places)| Piece::PerText(Arc::clone(job), index, places));
        self.admit(bytes.iter().map(places).sum(), pieces)
    }

    fn admit(&self, places: usize, pieces: impl Iterator<Item = Piece>) -> Result<(), Failure> {
        let mut state = self.lock();
        let waiting = state.stats.waiting_texts;
        if state.stopped {
            return Err(Failure::Stopped);
        }
        // A request larger than the whole queue is let in when nothing else waits: refusing it would be for ever.
        if waiting > 0 && waiting.saturating_add(places) > self.capacity {
            state.forget_abandoned();
            let waiting = state.stats.waiting_texts;
            if waiting > 0 && waiting.saturating_add(places) > self.capacity {
                return Err(Failure::Overloaded { waiting });
            }
        }
        state.stats.waiting_texts += places;
        state.pieces.extend(pieces);
        drop(state);
        self.work_available.notify_one();
        Ok(())
    }

    /// Waits for something to do; `None` once the engine has stopped.
    pub(super) fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(task) = state.next() {
                let more = !(state.pieces.is_empty() && state.ready.is_empty() && state.groups.is_empty());
                if more && state.idle > 0 {
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

    /// Queues texts that have been tokenised. This thread comes for some of them itself.
    pub(super) fn push_ready(&self, texts: Vec<TokenizedText>) {
        let mut state = self.lock();
        state.stats.waiting_texts += texts.len();
        state.ready_tokens += texts.iter().map(|text| text.ids.len()).sum::<usize>();
        state.ready.extend(texts);
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

    /// Counts a batch.
    pub(super) fn embedded(&self, texts: usize, tokens: usize) {
        let stats = &mut self.lock().stats;
        stats.batches += 1;
        stats.texts += texts as u64;
        stats.tokens += tokens as u64;
    }

    pub(super) fn stats(&self) -> Stats {
        self.lock().stats
    }

    /// Fails everything that waits and ends the threads.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        let (pieces, ready) = (std::mem::take(&mut state.pieces), std::mem::take(&mut state.ready));
        state.stats.waiting_texts = 0;
        drop(state);
        pieces.iter().for_each(|piece| piece.fail(Failure::Stopped));
        ready.iter().for_each(|text| text.job.fail(Failure::Stopped));
        self.work_available.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Splits a request's texts into pieces for tokenising.
fn pieces(texts: &[Input]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, text) in texts.iter().enumerate() {
        bytes += text.bytes();
        if bytes >= PIECE_BYTES || index + 1 - start == PIECE_TEXTS || index + 1 == texts.len() {
            pieces.push(start..index + 1);
            (start, bytes) = (index + 1, 0);
        }
    }
    pieces
}

impl QueueState {
    /// Chooses the next task: help where a thread waits for it; a full batch before more texts to tokenise, so that
    /// the threads do not tokenise far ahead of what they embed; then whatever is queued.
    fn next(&mut self) -> Option<Task> {
        if let Some(group) = self.groups.pop_front() {
            return Some(Task::Help(group));
        }
        let batch = loop {
            if self.ready_tokens < BATCH_TOKENS
                && let Some(piece) = self.next_piece()
            {
                return Some(match piece {
                    Piece::Tokenize(job, texts) => Task::Tokenize(job, texts),
                    Piece::PerText(job, text, _) => Task::PerText(job, text),
                });
            }
            match self.next_batch() {
                Some(batch) => break batch,
                // All that was looked at has been abandoned: behind it may be more, and there may be room for pieces.
                None if self.ready.is_empty() && self.pieces.is_empty() => return None,
                None => {}
            }
        };
        self.free = self.free.saturating_sub(1);
        let lone = self.ready.is_empty() && batch.len() == 1;
        Some(Task::Embed(batch, if lone { self.idle } else { 0 }))
    }

    /// Returns the tokens of the next batch: equal shares for all free threads, in batches of at most
    /// [`BATCH_TOKENS`].
    fn share(&self) -> usize {
        let batches = self.ready_tokens.div_ceil(BATCH_TOKENS).next_multiple_of(self.free.max(1));
        self.ready_tokens.div_ceil(batches.max(1)).max(SHARE_TOKENS)
    }

    fn next_piece(&mut self) -> Option<Piece> {
        while let Some(piece) = self.pieces.pop_front() {
            self.stats.waiting_texts -= piece.places();
            if piece.is_live() {
                return Some(piece);
            }
        }
        None
    }

    /// Takes the text that has waited longest, and with it further ones of its model, up to this thread's share.
    fn next_batch(&mut self) -> Option<Vec<TokenizedText>> {
        let share = self.share();
        let mut batch: Vec<TokenizedText> = Vec::new();
        let mut tokens = 0;
        let mut index = 0;
        while tokens < share && index < self.ready.len().min(LOOK_AHEAD) {
            let Some(text) = self.ready.get(index) else { break };
            let length = text.ids.len();
            let fits = match batch.first() {
                None => true,
                // A text of which more than half lies beyond the share is the next thread's.
                Some(first) => {
                    Arc::ptr_eq(&first.job.model, &text.job.model)
                        && tokens + length <= BATCH_TOKENS
                        && tokens + length / 2 <= share
                }
            };
            if !fits {
                index += 1;
                continue;
            }
            let Some(text) = self.ready.remove(index) else { break };
            self.stats.waiting_texts -= 1;
            self.ready_tokens -= length;
            if text.job.is_live() {
                tokens += length;
                batch.push(text);
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// Removes texts whose callers no longer wait.
    fn forget_abandoned(&mut self) {
        self.pieces.retain(Piece::is_live);
        self.ready.retain(|text| text.job.is_live());
        self.ready_tokens = self.ready.iter().map(|text| text.ids.len()).sum();
        self.stats.waiting_texts = self.pieces.iter().map(Piece::places).sum::<usize>() + self.ready.len();
    }
}
