//! What waits for a thread, and which of it comes next.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Failure, Stats, job::Job};
use crate::model::BATCH_TOKENS;

/// Texts of a request that one thread tokenises in one go: enough to be worth the trip, few enough that a large
/// request is spread over the threads.
const PIECE_TEXTS: usize = 32;

/// How far down the queue a batch looks for more texts of its model.
const LOOK_AHEAD: usize = 512;

/// A text with its token ids.
pub(super) struct Ready {
    pub(super) job: Arc<Job>,
    pub(super) index: usize,
    pub(super) ids: Vec<u32>,
}

/// What a thread does next.
pub(super) enum Task {
    /// Turn these texts of a job into ids.
    Tokenize(Arc<Job>, Range<usize>),
    /// Embed these texts, all of one model.
    Embed(Vec<Ready>),
}

pub(super) struct Queue {
    capacity: usize,
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<(Arc<Job>, Range<usize>)>,
    ready: VecDeque<Ready>,
    ready_tokens: usize,
    stopped: bool,
    stats: Stats,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::default(), news: Condvar::new() }
    }

    pub(super) fn submit(&self, job: &Arc<Job>) -> Result<(), Failure> {
        let texts = job.request.texts.len();
        let mut state = self.lock();
        let waiting = state.stats.waiting_texts;
        if state.stopped {
            return Err(Failure::Stopped);
        }
        // A request larger than the whole queue is let in when nothing else waits: refusing it would be for ever.
        if waiting > 0 && waiting.saturating_add(texts) > self.capacity {
            state.forget_abandoned();
            let waiting = state.stats.waiting_texts;
            if waiting > 0 && waiting.saturating_add(texts) > self.capacity {
                return Err(Failure::Overloaded { waiting });
            }
        }
        state.stats.waiting_texts += texts;
        for start in (0..texts).step_by(PIECE_TEXTS) {
            let piece = start..texts.min(start + PIECE_TEXTS);
            state.pieces.push_back((Arc::clone(job), piece));
        }
        drop(state);
        match texts {
            0..=PIECE_TEXTS => self.news.notify_one(),
            _ => self.news.notify_all(),
        }
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
                return Some(task);
            }
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Texts that have been tokenised.
    pub(super) fn ready(&self, texts: Vec<Ready>) {
        let mut state = self.lock();
        state.stats.waiting_texts += texts.len();
        state.ready_tokens += texts.iter().map(|text| text.ids.len()).sum::<usize>();
        let more_than_one_batch = state.ready_tokens > BATCH_TOKENS;
        state.ready.extend(texts);
        drop(state);
        // This thread takes the next batch itself.
        if more_than_one_batch {
            self.news.notify_one();
        }
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

    /// Fails everything that waits and sends the threads home.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        let waiting = std::mem::take(&mut *state);
        state.stopped = true;
        drop(state);
        waiting.pieces.iter().for_each(|(job, _)| job.fail(Failure::Stopped));
        waiting.ready.iter().for_each(|text| text.job.fail(Failure::Stopped));
        self.news.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A full batch first, so that the threads do not tokenise far ahead of what they embed; then texts to
    /// tokenise; then what there is.
    fn next(&mut self) -> Option<Task> {
        if self.ready_tokens < BATCH_TOKENS
            && let Some((job, piece)) = self.next_piece()
        {
            return Some(Task::Tokenize(job, piece));
        }
        self.next_batch().map(Task::Embed)
    }

    fn next_piece(&mut self) -> Option<(Arc<Job>, Range<usize>)> {
        while let Some((job, piece)) = self.pieces.pop_front() {
            self.stats.waiting_texts -= piece.len();
            if job.is_wanted() {
                return Some((job, piece));
            }
        }
        None
    }

    /// The text that has waited longest, and with it further ones of its model, up to [`BATCH_TOKENS`].
    fn next_batch(&mut self) -> Option<Vec<Ready>> {
        let mut batch: Vec<Ready> = Vec::new();
        let mut tokens = 0;
        let mut index = 0;
        while index < self.ready.len().min(LOOK_AHEAD) {
            let Some(text) = self.ready.get(index) else { break };
            let fits = match batch.first() {
                None => true,
                Some(first) => {
                    Arc::ptr_eq(&first.job.model, &text.job.model) && tokens + text.ids.len() <= BATCH_TOKENS
                }
            };
            if !fits {
                index += 1;
                if tokens >= BATCH_TOKENS {
                    break;
                }
                continue;
            }
            let Some(text) = self.ready.remove(index) else { break };
            self.stats.waiting_texts -= 1;
            self.ready_tokens -= text.ids.len();
            if text.job.is_wanted() {
                tokens += text.ids.len();
                batch.push(text);
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// Takes out what nobody waits for any more.
    fn forget_abandoned(&mut self) {
        self.pieces.retain(|(job, _)| job.is_wanted());
        self.ready.retain(|text| text.job.is_wanted());
        self.ready_tokens = self.ready.iter().map(|text| text.ids.len()).sum();
        self.stats.waiting_texts =
            self.pieces.iter().map(|(_, piece)| piece.len()).sum::<usize>() + self.ready.len();
    }
}
