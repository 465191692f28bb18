//! A request's work as it waits: pieces to tokenize, and texts with their token ids.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::{CallerKind, Failure, Input, job::Job, per_text::TextTask};
use crate::model::{BATCH_TOKENS, Model};

/// Texts of a request that one thread tokenizes in one go, or fewer that have so many bytes: enough to be worth the
/// trip, few enough that a large request is spread over the threads.
const PIECE_TEXTS: usize = 32;
const PIECE_BYTES: usize = 4096;
/// Work of at most so many tokens is short: half of the largest batch.
const SHORT_TOKENS: usize = BATCH_TOKENS / 2;
/// Tokens in a second of a text that is only worked on: far below what a thread does.
const TEXT_TOKENS_A_SECOND: f64 = 1e5;

/// A text with its token ids.
pub(super) struct TokenizedText {
    pub(super) job: Arc<Job>,
    pub(super) index: usize,
    pub(super) ids: Vec<u32>,
    /// Time of its tokenization.
    pub(super) tokenizing: Duration,
}

/// Who gets the answer.
pub(super) enum WorkOwner {
    /// Texts to embed.
    Texts(Arc<Job>),
    /// Texts to work on one by one.
    Tasks(Arc<dyn TextTask>),
}

/// Texts of one request that one thread takes in one go.
pub(super) struct WorkPiece {
    pub(super) texts: Range<usize>,
    /// Places that it takes in the queue.
    places: usize,
    /// Its estimated tokens.
    tokens: usize,
}

/// What waits of a request.
pub(super) struct PendingWork {
    pub(super) owner: WorkOwner,
    pub(super) kind: CallerKind,
    pub(super) pieces: VecDeque<WorkPiece>,
    pub(super) ready: VecDeque<TokenizedText>,
    pub(super) ready_tokens: usize,
    /// Tokens that wait, estimated until they are counted.
    pub(super) tokens: usize,
    /// Pieces that threads tokenize now; their texts come back.
    away: usize,
    /// Whether it was at most [`SHORT_TOKENS`] when it came.
    pub(super) is_short: bool,
}

impl PendingWork {
    /// Returns the work of a request for vectors.
    pub(super) fn of_texts(kind: CallerKind, job: &Arc<Job>) -> Self {
        Self::new(kind, WorkOwner::Texts(Arc::clone(job)), pieces(&job.model, &job.request.texts))
    }

    /// Returns the work on texts of so many bytes, one by one. No limit of tokens cuts these, so that a long text takes a
    /// place for each [`PIECE_BYTES`].
    pub(super) fn of_tasks(kind: CallerKind, task: &Arc<dyn TextTask>, bytes: &[usize]) -> Self {
        let piece = |(index, bytes): (usize, &usize)| WorkPiece {
            texts: index..index + 1,
            places: bytes.div_ceil(PIECE_BYTES).max(1),
            tokens: bytes / 4 + 1,
        };
        let pieces = bytes.iter().enumerate().map(piece).collect();
        Self::new(kind, WorkOwner::Tasks(Arc::clone(task)), pieces)
    }

    fn new(kind: CallerKind, owner: WorkOwner, pieces: VecDeque<WorkPiece>) -> Self {
        let tokens = pieces.iter().map(|piece| piece.tokens).sum();
        let is_short = tokens <= SHORT_TOKENS;
        Self { owner, kind, pieces, ready: VecDeque::new(), ready_tokens: 0, tokens, away: 0, is_short }
    }

    /// Returns the places that it takes in the queue.
    pub(super) fn places(&self) -> usize {
        self.pieces.iter().map(|piece| piece.places).sum::<usize>() + self.ready.len()
    }

    /// Returns whether a thread could take some of it now.
    pub(super) fn can_run(&self) -> bool {
        !(self.pieces.is_empty() && self.ready.is_empty())
    }

    /// Returns whether nothing of it will wait any more.
    pub(super) fn is_done(&self) -> bool {
        !self.can_run() && self.away == 0
    }

    /// Returns whether both may be in one batch: they have one model, and are both short or both long.
    pub(super) fn is_like(&self, model: Option<&Arc<Model>>, short: bool) -> bool {
        let same = self.model().zip(model).is_some_and(|(own, other)| Arc::ptr_eq(own, other));
        same && self.is_short == short
    }

    pub(super) fn model(&self) -> Option<&Arc<Model>> {
        match &self.owner {
            WorkOwner::Texts(job) => Some(&job.model),
            WorkOwner::Tasks(_) => None,
        }
    }

    /// Returns whether the caller still waits.
    pub(super) fn is_live(&self) -> bool {
        match &self.owner {
            WorkOwner::Texts(job) => job.is_live(),
            WorkOwner::Tasks(task) => task.is_live(),
        }
    }

    pub(super) fn fail(&self, failure: Failure) {
        match &self.owner {
            WorkOwner::Texts(job) => job.fail(failure),
            WorkOwner::Tasks(task) => task.fail(failure),
        }
    }

    /// Returns the seconds that one thread needs for what waits, as far as measured.
    pub(super) fn seconds(&self) -> f64 {
        let speed = match self.model() {
            Some(model) => model.tokens_per_second(),
            None => Some(TEXT_TOKENS_A_SECOND),
        };
        speed.map_or(0.0, |speed| self.tokens as f64 / speed)
    }

    /// Takes the next piece: what it is, its places, and the tokens to charge. An encoder's tokens are charged once they
    /// are embedded, which takes a hundred times as long.
    pub(super) fn take_piece(&mut self) -> Option<(WorkPiece, usize, usize)> {
        let piece = self.pieces.pop_front()?;
        self.tokens = self.tokens.saturating_sub(piece.tokens);
        let batches = self.model().is_some_and(|model| model.batches());
        self.away += usize::from(batches);
        let (places, tokens) = (piece.places, piece.tokens);
        Some((piece, places, if batches { 0 } else { tokens }))
    }

    /// Takes a piece's texts back, tokenized; none if they are not wanted any more.
    pub(super) fn give_back(&mut self, texts: Vec<TokenizedText>) {
        self.away = self.away.saturating_sub(1);
        let tokens = texts.iter().map(|text| text.ids.len()).sum::<usize>();
        self.tokens += tokens;
        self.ready_tokens += tokens;
        self.ready.extend(texts);
    }

    /// Adds texts to a batch of `tokens` tokens until it has its `share`, and returns how many tokens they have. A text of
    /// which more than half lies beyond the share is the next thread's; so is one with which the batch exceeds `most`.
    pub(super) fn fill(
        &mut self,
        batch: &mut Vec<TokenizedText>,
        mut tokens: usize,
        share: usize,
        most: usize,
    ) -> usize {
        let before = tokens;
        let mut index = 0;
        while tokens < share
            && let Some(text) = self.ready.get(index)
        {
            let length = text.ids.len();
            if !batch.is_empty() && (tokens + length > most || tokens + length / 2 > share) {
                index += 1;
                continue;
            }
            let Some(text) = self.ready.remove(index) else { break };
            tokens += length;
            batch.push(text);
        }
        let taken = tokens - before;
        self.tokens = self.tokens.saturating_sub(taken);
        self.ready_tokens = self.ready_tokens.saturating_sub(taken);
        taken
    }
}

/// Splits a request's texts into pieces for tokenizing.
fn pieces(model: &Model, texts: &[Input]) -> VecDeque<WorkPiece> {
    let mut pieces = VecDeque::new();
    let (mut start, mut bytes, mut tokens) = (0, 0, 0);
    for (index, text) in texts.iter().enumerate() {
        bytes += text.bytes();
        tokens += text.estimated_tokens(model);
        if bytes >= PIECE_BYTES || index + 1 - start == PIECE_TEXTS || index + 1 == texts.len() {
            pieces.push_back(WorkPiece { texts: start..index + 1, places: index + 1 - start, tokens });
            (start, bytes, tokens) = (index + 1, 0, 0);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::toy;

    #[test]
    fn pieces_are_limited_by_texts_and_bytes() {
        let model = toy();
        let lengths = |texts: &[usize]| {
            let texts: Vec<Input> = texts.iter().map(|length| Input::Text("a".repeat(*length))).collect();
            pieces(&model, &texts).into_iter().map(|piece| piece.texts.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(&[]), [0; 0]);
        assert_eq!(lengths(&[5; 70]), [32, 32, 6]);
        assert_eq!(lengths(&[2048; 5]), [2, 2, 1]);
        assert_eq!(lengths(&[10_000, 1, 1]), [1, 2]);
    }

    #[test]
    fn tokens_are_estimated_up_to_the_limit() {
        let model = toy();
        let texts = [
            Input::Text("a".repeat(40)),
            Input::Pair("why?".into(), "a".repeat(36)),
            Input::Ids(vec![4; 7]),
            Input::Text("a".repeat(100_000)),
        ];
        let tokens = pieces(&model, &texts).iter().map(|piece| piece.tokens).sum::<usize>();
        assert_eq!(tokens, 12 + 12 + 7 + 512);
    }
}
