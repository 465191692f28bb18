//! One request on its way through the queue.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{Embedded, Failure, Request};
use crate::late_interaction::TokenVectors;
use crate::model::{Model, TextError};

/// A request, shared by the pieces that it was cut into.
pub(super) struct Job {
    pub(super) model: Arc<Model>,
    pub(super) request: Request,
    submitted: Instant,
    progress: Mutex<Progress>,
}

struct Progress {
    sender: Option<oneshot::Sender<Result<Embedded, Failure>>>,
    embedded: Embedded,
    started: bool,
    /// Texts without a vector yet.
    remaining: usize,
    /// All texts before this one have been tokenised.
    tokenized: usize,
    /// Pieces that were tokenised before an earlier piece: first text, and the text after the last.
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
    ) -> Arc<Self> {
        let (texts, dims) = (request.texts.len(), request.options.dimensions.unwrap_or(model.dims()));
        let embedded = Embedded { vectors: vec![0.0; texts * dims], dims, ..Embedded::default() };
        let progress = Progress {
            sender: Some(sender),
            embedded,
            started: false,
            remaining: texts,
            tokenized: 0,
            ahead: BTreeMap::new(),
            refused: None,
        };
        let job = Self { model, request, submitted: Instant::now(), progress: Mutex::new(progress) };
        if texts == 0 {
            job.finish(Ok(()));
        }
        Arc::new(job)
    }

    /// Returns whether the caller still waits for the answer; fails a job whose deadline is over.
    pub(super) fn is_live(&self) -> bool {
        if Instant::now() >= self.request.deadline {
            self.fail(Failure::Deadline);
        }
        let progress = self.lock();
        progress.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Records that a thread has taken up a piece of the job; false if a text before it has been refused.
    pub(super) fn started(&self, piece: &Range<usize>) -> bool {
        let mut progress = self.lock();
        if !progress.started {
            progress.started = true;
            progress.embedded.queued = self.submitted.elapsed();
        }
        progress.refused.as_ref().is_none_or(|refused| refused.index > piece.start)
    }

    /// Records that a piece has been tokenised.
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
    /// comes first, so this ends the job only when all texts before it have been tokenised.
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

    /// Adds the time of the job's share of a batch.
    pub(super) fn spent(&self, time: Duration) {
        self.lock().embedded.inference += time;
    }

    /// Records one text's finished vector, and those of its tokens if they are wanted.
    pub(super) fn vector(&self, index: usize, vector: &[f32], token_vectors: Option<TokenVectors>) {
        let mut progress = self.lock();
        if let Some(found) = token_vectors {
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
