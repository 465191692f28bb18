//! Work on each text of a request without batches, such as listing its tokens.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use super::{Failure, StartTime};
use crate::model::TextError;

/// A request whose texts are worked on one by one.
pub(super) trait TextTask: Send + Sync {
    /// Returns whether the caller still waits for the answer.
    fn is_live(&self) -> bool;
    /// Works on one text.
    fn work(&self, index: usize);
    /// Ends the request without an answer.
    fn fail(&self, failure: Failure);
}

/// Texts, their results, and the waiting caller.
pub(super) struct TextList<T, F> {
    texts: Vec<String>,
    deadline: Instant,
    work: F,
    start: StartTime,
    progress: Mutex<Progress<T>>,
}

struct Progress<T> {
    /// Gone once the answer is given.
    sender: Option<oneshot::Sender<Result<Vec<T>, Failure>>>,
    made: Vec<Option<T>>,
    remaining: usize,
}

impl<T, F> TextList<T, F> {
    pub(super) fn new(
        texts: Vec<String>,
        deadline: Instant,
        work: F,
        sender: oneshot::Sender<Result<Vec<T>, Failure>>,
        start: StartTime,
    ) -> Self {
        let made = texts.iter().map(|_| None).collect();
        let progress = Progress { sender: Some(sender), made, remaining: texts.len() };
        Self { texts, deadline, work, start, progress: Mutex::new(progress) }
    }

    fn finish(&self, answer: impl FnOnce(&mut Progress<T>) -> Result<Vec<T>, Failure>) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = progress.sender.take() {
            // A caller that has left needs no answer.
            let _ = sender.send(answer(&mut progress));
        }
    }
}

impl<T, F> TextTask for TextList<T, F>
where
    T: Send,
    F: Fn(&str) -> Result<T, TextError> + Send + Sync,
{
    fn is_live(&self) -> bool {
        if self.start.get().is_none() && Instant::now() >= self.deadline {
            self.fail(Failure::Deadline);
        }
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    fn work(&self, index: usize) {
        let Some(text) = self.texts.get(index) else { return };
        // Later texts change nothing.
        let _ = self.start.set(Instant::now());
        let made = match (self.work)(text) {
            Ok(made) => made,
            Err(error) => return self.fail(Failure::Text { index, error }),
        };
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = progress.made.get_mut(index) {
            *place = Some(made);
        }
        progress.remaining = progress.remaining.saturating_sub(1);
        if progress.remaining == 0 {
            drop(progress);
            self.finish(|progress| Ok(std::mem::take(&mut progress.made).into_iter().flatten().collect()));
        }
    }

    fn fail(&self, failure: Failure) {
        self.finish(|_| Err(failure));
    }
}
