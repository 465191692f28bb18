//! One request on its way through the queue.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{Embedded, Failure, Request, StartTime};
use crate::late_interaction::TokenVectors;
use crate::model::{Model, TextError};

/// What one text took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextTimes {
    /// Its tokens, special tokens included.
    pub tokens: usize,
    /// Time of its tokenization.
    pub tokenizing: Duration,
    /// Time from its request to its batch, without that of its tokenization.
    pub queued: Duration,
    /// Time of its share of the batch, by tokens.
    pub inference: Duration,
    /// Time from its request to the end of the batch.
    pub total: Duration,
}

/// A request, shared by the pieces that it was cut into.
pub(super) struct Job {
    pub(super) model: Arc<Model>,
    pub(super) request: Request,
    pub(super) submitted: Instant,
    start: StartTime,
    progress: Mutex<Progress>,
}

struct Progress {
    sender: Option<oneshot::Sender<Result<Embedded, Failure>>>,
    embedded: Embedded,
    /// The engine's turns when it was admitted.
    admitted: u64,
    /// Texts without a vector yet.
    remaining: usize,
    /// Terms of the texts so far.
    terms: usize,
    /// All texts before this one have been tokenized.
    tokenized: usize,
    /// Pieces that were tokenized before an earlier piece: first text, and the text after the last.
    ahead: BTreeMap<usize, usize>,
    refused: Option<Refused>,
}

/// The first text so far that cannot be embedded.
struct Refused {
    index: usize,
    error: TextError,
    /// Where its piece begins.
    piece: usize,
}

impl Job {
    pub(super) fn new(
        model: Arc<Model>,
        request: Request,
        sender: oneshot::Sender<Result<Embedded, Failure>>,
        start: StartTime,
    ) -> Arc<Self> {
        let (texts, dims) = (request.texts.len(), request.options.dimensions.unwrap_or(model.dims()));
        let (vectors, text_times) = (vec![0.0; texts * dims], vec![TextTimes::default(); texts]);
        let embedded = Embedded { vectors, dims, text_times, ..Embedded::default() };
        let progress = Progress {
            sender: Some(sender),
            embedded,
            admitted: 0,
            remaining: texts,
            terms: 0,
            tokenized: 0,
            ahead: BTreeMap::new(),
            refused: None,
        };
        let submitted = Instant::now();
        let job = Self { model, request, submitted, start, progress: Mutex::new(progress) };
        if texts == 0 {
            job.finish(Ok(()));
        }
        Arc::new(job)
    }

    /// Returns whether the caller still waits for the answer; fails a job that has not started by its deadline.
    pub(super) fn is_live(&self) -> bool {
        if self.start.get().is_none() && Instant::now() >= self.request.deadline {
            self.fail(Failure::Deadline);
        }
        let progress = self.lock();
        progress.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Records after how many turns of the engine the job was admitted.
    pub(super) fn admitted(&self, turns: u64) {
        self.lock().admitted = turns;
    }

    /// Records after how many turns of the engine the first of the job's own begins, which gives vectors; later ones
    /// change nothing.
    pub(super) fn started(&self, turns: u64) {
        let now = Instant::now();
        if self.start.set(now).is_ok() {
            let mut progress = self.lock();
            let waited = now.saturating_duration_since(self.submitted);
            progress.embedded.queued = waited.saturating_sub(progress.embedded.tokenizing);
            progress.embedded.queued_turns = turns.saturating_sub(progress.admitted);
        }
    }

    /// Returns whether a piece is still wanted: no text before it has been refused.
    pub(super) fn wants(&self, piece: &Range<usize>) -> bool {
        self.lock().refused.as_ref().is_none_or(|refused| refused.index > piece.start)
    }

    /// Records that a piece has been tokenized.
    pub(super) fn tokenized(&self, piece: Range<usize>, tokens: usize, truncated: usize, time: Duration) {
        let mut progress = self.lock();
        progress.embedded.tokens += tokens;
        progress.embedded.truncated += truncated;
        progress.embedded.tokenizing += time;
        progress.ahead.insert(piece.start, piece.end);
        let mut end = progress.tokenized;
        while let Some(further) = progress.ahead.remove(&end) {
            end = further;
        }
        progress.tokenized = end;
        self.settle(progress);
    }

    /// Records that a text of a piece cannot be embedded. The error names the first of several, whichever thread
    /// comes first, so this ends the job only when all texts before it have been tokenized.
    pub(super) fn refused(&self, piece: Range<usize>, index: usize, error: TextError) {
        let mut progress = self.lock();
        if progress.refused.as_ref().is_none_or(|first| index < first.index) {
            progress.refused = Some(Refused { index, error, piece: piece.start });
        }
        self.settle(progress);
    }

    fn settle(&self, mut progress: MutexGuard<'_, Progress>) {
        let tokenized = progress.tokenized;
        if let Some(Refused { index, error, .. }) = progress.refused.take_if(|first| first.piece <= tokenized)
        {
            drop(progress);
            self.fail(Failure::Text { index, error });
        }
    }

    /// Records one text's finished vector and what it took, and the vectors of its tokens if they are wanted.
    pub(super) fn vector(
        &self,
        index: usize,
        vector: &[f32],
        token_vectors: Option<TokenVectors>,
        times: TextTimes,
    ) {
        let mut progress = self.lock();
        progress.embedded.inference += times.inference;
        if let Some(place) = progress.embedded.text_times.get_mut(index) {
            *place = times;
        }
        if let Some(found) = token_vectors {
            progress.terms += found.terms.len();
            if let Some(most) = self.request.options.most_terms.filter(|most| progress.terms > *most) {
                drop(progress);
                return self.fail(Failure::Terms { most });
            }
            let texts = self.request.texts.len();
            progress.embedded.token_vectors.resize_with(texts, TokenVectors::default);
            if let Some(place) = progress.embedded.token_vectors.get_mut(index) {
                *place = found;
            }
        }
        let dims = progress.embedded.dims;
        let rows = progress.embedded.vectors.chunks_exact_mut(dims.max(1));
        if let Some(row) = rows.into_iter().nth(index) {
            row.iter_mut().zip(vector).for_each(|(to, from)| *to = *from);
        }
        progress.remaining = progress.remaining.saturating_sub(1);
        if progress.remaining == 0 {
            drop(progress);
            self.finish(Ok(()));
        }
    }

    /// Ends the job without vectors; what comes later is dropped.
    pub(super) fn fail(&self, failure: Failure) {
        self.finish(Err(failure));
    }

    fn finish(&self, outcome: Result<(), Failure>) {
        let mut progress = self.lock();
        if let Some(sender) = progress.sender.take() {
            let embedded = std::mem::take(&mut progress.embedded);
            // A caller that has left needs no answer.
            let _ = sender.send(outcome.map(|()| embedded));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
