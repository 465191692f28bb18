//! The loop of an inference thread.

use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::job::{Job, TextTimes};
use super::queue::{Batch, Queue, RunningBatch, Task};
use super::work::TokenizedText;
use super::{Failure, Input};
use crate::error::EmbedError;
use crate::late_interaction::TokenVectors;
use crate::model::{BatchHooks, Model, Scratch, TokenRows};

/// Batches of one thread that have begun: one in between may yield to another once more.
const DEPTH: usize = 3;

/// Works until the engine stops.
pub(super) fn run(queue: &Queue) {
    let mut scratch: [Scratch; DEPTH] = Default::default();
    while let Some(task) = queue.next() {
        let embeds = matches!(task, Task::Embed(_));
        perform(queue, task, &mut scratch);
        if embeds {
            queue.is_free();
        }
    }
}

thread_local! {
    /// Scratch space of a thread outside of the engine.
    static HERE: RefCell<[Scratch; 1]> = RefCell::default();
}

/// Performs one task of static models on the calling thread, outside of the engine.
pub(super) fn perform_here(queue: &Queue, task: Task) {
    HERE.with_borrow_mut(|scratch| perform(queue, task, scratch));
}

/// Performs one task; batches that begin within others have the scratch space behind the first.
fn perform(queue: &Queue, task: Task, scratch: &mut [Scratch]) {
    match task {
        Task::Tokenize(job, piece, place) => {
            let worked = guarded(scratch, |scratch| tokenize(queue, &job, piece, scratch));
            let texts = worked.unwrap_or_else(|failure| {
                job.fail(failure);
                Vec::new()
            });
            if job.model.batches() {
                queue.give_back(&place, texts);
            }
        }
        Task::PerText(job, text) => {
            if let Err(failure) = guarded(scratch, |_| job.work(text)) {
                job.fail(failure);
            }
        }
        Task::Embed(Batch { texts, helpers, running }) => {
            embed(queue, texts, helpers, Some(running), scratch);
        }
        // A failure here fails the thread that asked for help too, which reports it.
        Task::Help(group) => drop(guarded(scratch, |scratch| {
            if let Some(scratch) = scratch.first_mut() {
                group.help(scratch);
            }
        })),
    }
}

/// Turns a panic into a failure, and throws away the scratch space that it left in whatever state.
fn guarded<T>(scratch: &mut [Scratch], work: impl FnOnce(&mut [Scratch]) -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(|| work(&mut *scratch))).map_err(|panic| {
        scratch.fill_with(Scratch::default);
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Failure::Internal(format!("a panic: {}", text.unwrap_or("no message")))
    })
}

/// Turns a piece of a job into ids, and returns its texts. A model that needs no batches embeds them on the spot.
fn tokenize(
    queue: &Queue,
    job: &Arc<Job>,
    piece: Range<usize>,
    scratch: &mut [Scratch],
) -> Vec<TokenizedText> {
    if !job.wants(&piece) {
        return Vec::new();
    }
    let started = Instant::now();
    let mut before = started;
    let mut ready = Vec::with_capacity(piece.len());
    let (mut tokens, mut truncated) = (0, 0);
    for index in piece.clone() {
        let Some(text) = job.request.texts.get(index) else { return Vec::new() };
        let tokenized = match text {
            Input::Text(text) => job.model.tokenize(text, &job.request.options),
            Input::Pair(first, second) => job.model.tokenize_pair(first, second, &job.request.options),
            Input::Ids(ids) => job.model.take_ids(ids),
        };
        match tokenized {
            Ok(tokenized) => {
                tokens += tokenized.ids.len();
                truncated += usize::from(tokenized.truncated);
                let now = Instant::now();
                let tokenizing = now.saturating_duration_since(before);
                before = now;
                ready.push(TokenizedText { job: Arc::clone(job), index, ids: tokenized.ids, tokenizing });
            }
            Err(error) => {
                job.refused(piece, index, error);
                return Vec::new();
            }
        }
    }
    job.tokenized(piece, tokens, truncated, started.elapsed());
    if !job.model.batches() {
        embed(queue, std::mem::take(&mut ready), 0, None, scratch);
        job.model.record_speed(tokens, started.elapsed());
    }
    ready
}

/// Embeds texts of one model, a single one with the help of so many idle threads. If a batch of several requests
/// fails, each request is tried separately, so that one cannot fail the others.
fn embed(
    queue: &Queue,
    texts: Vec<TokenizedText>,
    helpers: usize,
    running: Option<RunningBatch>,
    scratch: &mut [Scratch],
) {
    let outcome = guarded(scratch, |scratch| batch(queue, &texts, helpers, running, scratch)).flatten();
    let Err(failure) = outcome else { return };
    let mut jobs: Vec<Vec<TokenizedText>> = Vec::new();
    for text in texts {
        match jobs.iter_mut().find(|job| job.iter().any(|other| Arc::ptr_eq(&other.job, &text.job))) {
            Some(job) => job.push(text),
            None => jobs.push(vec![text]),
        }
    }
    match jobs.as_slice() {
        [only] => only.iter().take(1).for_each(|text| text.job.fail(failure.clone())),
        _ => jobs.into_iter().for_each(|job| embed(queue, job, 0, running, scratch)),
    }
}

fn batch(
    queue: &Queue,
    texts: &[TokenizedText],
    helpers: usize,
    running: Option<RunningBatch>,
    scratch: &mut [Scratch],
) -> Result<(), Failure> {
    let (Some(first), [own, behind @ ..]) = (texts.first(), scratch) else { return Ok(()) };
    let model = &first.job.model;
    let mut offsets = Vec::with_capacity(texts.len() + 1);
    let mut ids = Vec::with_capacity(texts.iter().map(|text| text.ids.len()).sum());
    offsets.push(0);
    for text in texts {
        ids.extend_from_slice(&text.ids);
        offsets.push(ids.len());
    }
    let started = Instant::now();
    let mut vectors = vec![0.0; texts.len() * model.width()];
    let token_vectors = vec![None; texts.len()];
    let mut hooks =
        RunningHooks { queue, model, texts, token_vectors, running, behind, elsewhere: Duration::ZERO };
    let internal = |error: EmbedError| Failure::Internal(error.to_string());
    match model.work_group(&ids, helpers + 1).filter(|_| texts.len() == 1) {
        Some(group) => {
            let group = Arc::new(group.map_err(internal)?);
            queue.help(&group, helpers.min(group.helpers()));
            let visit = &mut |text: usize, rows: TokenRows<'_>| hooks.see(text, rows);
            vectors = group.run(own, visit).map_err(internal)?;
        }
        None => model.embed_followed(&ids, &offsets, own, &mut vectors, &mut hooks).map_err(internal)?,
    }
    let RunningHooks { token_vectors, elsewhere, .. } = hooks;
    let ended = Instant::now();
    let time = ended.saturating_duration_since(started).saturating_sub(elsewhere);
    queue.embedded(texts.len(), ids.len());
    if model.batches() {
        let threads = u32::try_from(helpers + 1).unwrap_or(u32::MAX);
        model.record_speed(ids.len(), time.saturating_mul(threads));
    }
    let per_token = time / u32::try_from(ids.len()).unwrap_or(u32::MAX).max(1);
    let vectors = vectors.chunks_exact_mut(model.width().max(1));
    for ((text, vector), token_vectors) in texts.iter().zip(vectors).zip(token_vectors) {
        let tokens = text.ids.len();
        let waited = started.saturating_duration_since(text.job.submitted);
        let times = TextTimes {
            tokens,
            tokenizing: text.tokenizing,
            queued: waited.saturating_sub(text.tokenizing),
            inference: per_token * u32::try_from(tokens).unwrap_or(u32::MAX),
            total: ended.saturating_duration_since(text.job.submitted),
        };
        let vector = model.finish(vector, &text.job.request.options);
        text.job.vector(text.index, &vector, token_vectors, times);
    }
    Ok(())
}

/// Collects the token vectors of a batch, and lets other work come in between.
struct RunningHooks<'b> {
    queue: &'b Queue,
    model: &'b Model,
    texts: &'b [TokenizedText],
    token_vectors: Vec<Option<TokenVectors>>,
    /// The batch; `None` if nothing may come in between.
    running: Option<RunningBatch>,
    /// Scratch space for batches in between.
    behind: &'b mut [Scratch],
    /// The time that these took.
    elsewhere: Duration,
}

impl BatchHooks for RunningHooks<'_> {
    fn see(&mut self, text: usize, rows: TokenRows<'_>) {
        let (model, texts) = (self.model, self.texts);
        let Some(of) = texts.get(text) else { return };
        let made = model.token_vectors(&of.ids, rows, &of.job.request.options, &mut || self.pause());
        if let Some(found) = self.token_vectors.get_mut(text) {
            *found = made;
        }
    }

    /// Takes turns of others until one of them was a batch.
    fn pause(&mut self) {
        let Some(running) = self.running.filter(|_| !self.behind.is_empty()) else { return };
        let since = Instant::now();
        while let Some(task) = self.queue.next_between(&running) {
            let embeds = matches!(task, Task::Embed(_));
            perform(self.queue, task, self.behind);
            if embeds {
                break;
            }
        }
        self.elsewhere += since.elapsed();
    }
}
