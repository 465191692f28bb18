//! The loop of an inference thread.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::job::Job;
use super::queue::{Queue, Task, TokenizedText};
use super::{Failure, Input};
use crate::error::EmbedError;
use crate::model::{Scratch, TokenRows};

/// Works until the engine stops.
pub(super) fn run(queue: &Queue) {
    let mut scratch = Scratch::default();
    while let Some(task) = queue.next() {
        match task {
            Task::Tokenize(job, piece) => {
                let worked = guarded(&mut scratch, |scratch| tokenize(queue, &job, piece, scratch));
                if let Err(failure) = worked {
                    job.fail(failure);
                }
            }
            Task::PerText(job, text) => {
                if let Err(failure) = guarded(&mut scratch, |_| job.work(text)) {
                    job.fail(failure);
                }
            }
            Task::Embed(texts, idle) => {
                embed(queue, texts, idle, &mut scratch);
                queue.is_free();
            }
            // A failure here fails the thread that asked for help too, which reports it.
            Task::Help(group) => drop(guarded(&mut scratch, |scratch| group.help(scratch))),
        }
    }
}

/// Turns a panic into a failure, and throws away the scratch space that it left in whatever state.
fn guarded<T>(scratch: &mut Scratch, work: impl FnOnce(&mut Scratch) -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(|| work(scratch))).map_err(|panic| {
        *scratch = Scratch::default();
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Failure::Internal(format!("a panic: {}", text.unwrap_or("no message")))
    })
}

/// Turns a piece of a job into ids. A model that needs no batches embeds it on the spot.
fn tokenize(queue: &Queue, job: &Arc<Job>, piece: Range<usize>, scratch: &mut Scratch) {
    if !job.started(&piece) {
        return;
    }
    let started = Instant::now();
    let mut ready = Vec::with_capacity(piece.len());
    let (mut tokens, mut truncated) = (0, 0);
    for index in piece.clone() {
        let Some(text) = job.request.texts.get(index) else { return };
        let tokenized = match text {
            Input::Text(text) => job.model.tokenize(text, &job.request.options),
            Input::Ids(ids) => job.model.take_ids(ids),
        };
        match tokenized {
            Ok(tokenized) => {
                tokens += tokenized.ids.len();
                truncated += usize::from(tokenized.truncated);
                ready.push(TokenizedText { job: Arc::clone(job), index, ids: tokenized.ids });
            }
            Err(error) => return job.refused(piece, index, error),
        }
    }
    job.tokenized(piece, tokens, truncated, started.elapsed());
    if job.model.batches() {
        queue.push_ready(ready);
    } else {
        embed(queue, ready, 0, scratch);
    }
}

/// Embeds texts of one model, a single one with the help of so many idle threads. If a batch of several requests
/// fails, each request is tried separately, so that one cannot fail the others.
fn embed(queue: &Queue, texts: Vec<TokenizedText>, idle: usize, scratch: &mut Scratch) {
    let outcome = guarded(scratch, |scratch| batch(queue, &texts, idle, scratch)).flatten();
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
        _ => jobs.into_iter().for_each(|job| embed(queue, job, 0, scratch)),
    }
}

fn batch(queue: &Queue, texts: &[TokenizedText], idle: usize, scratch: &mut Scratch) -> Result<(), Failure> {
    let Some(first) = texts.first() else { return Ok(()) };
    let model = &first.job.model;
    let mut offsets = Vec::with_capacity(texts.len() + 1);
    let mut ids = Vec::with_capacity(texts.iter().map(|text| text.ids.len()).sum());
    offsets.push(0);
    for text in texts {
        ids.extend_from_slice(&text.ids);
        offsets.push(ids.len());
    }
    let started = Instant::now();
    let mut vectors = vec![0.0; texts.len() * model.dims()];
    let mut token_vectors = vec![None; texts.len()];
    let visit = &mut |index: usize, rows: TokenRows<'_>| {
        if let (Some(text), Some(found)) = (texts.get(index), token_vectors.get_mut(index)) {
            *found = model.token_vectors(&text.ids, rows, &text.job.request.options);
        }
    };
    let internal = |error: EmbedError| Failure::Internal(error.to_string());
    match model.work_group(&ids, idle + 1).filter(|_| texts.len() == 1) {
        Some(group) => {
            let group = Arc::new(group.map_err(internal)?);
            queue.help(&group, idle.min(group.helpers()));
            vectors = group.run(scratch, visit).map_err(internal)?;
        }
        None => model.embed_tokens(&ids, &offsets, scratch, &mut vectors, visit).map_err(internal)?,
    }
    let per_token = started.elapsed() / u32::try_from(ids.len()).unwrap_or(u32::MAX).max(1);
    queue.embedded(texts.len(), ids.len());
    let vectors = vectors.chunks_exact_mut(model.dims().max(1));
    for ((text, vector), token_vectors) in texts.iter().zip(vectors).zip(token_vectors) {
        text.job.spent(per_token * u32::try_from(text.ids.len()).unwrap_or(u32::MAX));
        let vector = model.finish(vector, &text.job.request.options);
        text.job.vector(text.index, vector, token_vectors);
    }
    Ok(())
}
