//! The engine: texts of all requests in one bounded queue, embedded in batches by a few dedicated threads.
//!
//! A request is split into pieces. A piece is first tokenised; texts of encoders then wait, with their ids, until a
//! thread takes as many of one model as make a batch, or its share if fewer wait: no text waits for others, and no
//! thread is idle while another has work for two. One text alone is embedded by all idle threads. A caller that
//! leaves, or whose deadline is over, takes its texts out of the queue with it. A panic fails the requests of its
//! batch and nothing else.

mod job;
mod per_text;
mod queue;
#[cfg(test)]
mod tests;
mod worker;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::late_interaction::TokenVectors;
use crate::model::{EmbedOptions, Model, TextError};
use job::Job;
use per_text::{TextList, TextTask};
use queue::Queue;

/// Settings of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Threads; 0 for one a processor.
    pub threads: usize,
    /// Texts that may wait; a request that finds no room for all of its texts is refused.
    pub queue_texts: usize,
}

impl Default for EngineOptions {
    /// Returns a queue of seconds, not minutes: a client that waits longer has gone.
    fn default() -> Self {
        Self { threads: 0, queue_texts: 8192 }
    }
}

/// One text, as characters or already as token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// To be tokenised.
    Text(String),
    /// Token ids that are used as they are: the caller adds special tokens and prompt, and truncates.
    Ids(Vec<u32>),
}

impl Input {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Ids(ids) => size_of_val(ids.as_slice()),
        }
    }
}

impl From<String> for Input {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Texts to embed.
#[derive(Clone, Debug)]
pub struct Request {
    /// The texts, in the order of the vectors.
    pub texts: Vec<Input>,
    /// How.
    pub options: EmbedOptions,
    /// When the caller stops waiting.
    pub deadline: Instant,
}

/// Vectors, and their cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// `[n, dims]` f32, row by row, in the order of the texts.
    pub vectors: Vec<f32>,
    /// Length of a vector.
    pub dims: usize,
    /// Vectors of each text's tokens; empty unless they were asked for and the model makes them.
    pub token_vectors: Vec<TokenVectors>,
    /// Tokens that were embedded, special tokens included.
    pub tokens: usize,
    /// Texts that were cut to the model's limit.
    pub truncated: usize,
    /// Time until a thread took the request up.
    pub queued: Duration,
    /// Processor time of its tokenisation.
    pub tokenizing: Duration,
    /// Time of its share of batches, by tokens.
    pub inference: Duration,
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The queue has no room.
    #[error("{waiting} texts are waiting already")]
    Overloaded {
        /// How many.
        waiting: usize,
    },
    /// The deadline is over.
    #[error("the deadline is over")]
    Deadline,
    /// A text cannot be embedded.
    #[error("text {index}: {error}")]
    Text {
        /// Which, from 0.
        index: usize,
        /// Why.
        error: TextError,
    },
    /// Inference failed; the text is for the log.
    #[error("inference failed: {0}")]
    Internal(String),
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

/// Counters of an engine since it started, and the length of its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Texts that wait now; one for [`Engine::map_texts`] counts once for each 4 KiB.
    pub waiting_texts: usize,
    /// Batches embedded.
    pub batches: u64,
    /// Texts in them.
    pub texts: u64,
    /// Tokens in them.
    pub tokens: u64,
}

/// The threads and their queue. Dropping it ends the threads after the current batch; waiting requests fail.
pub struct Engine {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// When the operating system gives no thread.
    pub fn start(options: EngineOptions) -> io::Result<Self> {
        let wanted = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let queue = Arc::new(Queue::new(options.queue_texts, wanted));
        let mut engine = Self { queue, threads: Vec::with_capacity(wanted) };
        for number in 0..wanted {
            let queue = Arc::clone(&engine.queue);
            let thread = std::thread::Builder::new().name(format!("inference-{number}"));
            engine.threads.push(thread.spawn(move || worker::run(&queue))?);
        }
        Ok(engine)
    }

    /// Queues a request. The future is that of a [`oneshot::Receiver`]; dropping it withdraws the request.
    ///
    /// # Errors
    ///
    /// [`Failure::Overloaded`] at once; everything else through the answer.
    pub fn embed(&self, model: &Arc<Model>, request: Request) -> Result<Pending, Failure> {
        let (sender, receiver) = oneshot::channel();
        self.queue.submit(&Job::new(Arc::clone(model), request, sender))?;
        Ok(Pending(receiver))
    }

    /// Queues texts and calls `work` on each, in their order. They wait in the same queue, and run on the same
    /// threads, as texts that are embedded, and take a place there for each 4 KiB; dropping the future withdraws
    /// those that no thread has taken.
    ///
    /// # Errors
    ///
    /// [`Failure::Overloaded`] at once; everything else through the answer.
    pub fn map_texts<T: Send + 'static>(
        &self,
        texts: Vec<String>,
        deadline: Instant,
        work: impl Fn(&str) -> Result<T, TextError> + Send + Sync + 'static,
    ) -> Result<Pending<Vec<T>>, Failure> {
        let (sender, receiver) = oneshot::channel();
        let bytes: Vec<usize> = texts.iter().map(String::len).collect();
        let job: Arc<dyn TextTask> = Arc::new(TextList::new(texts, deadline, work, sender));
        self.queue.submit_tasks(&job, &bytes)?;
        Ok(Pending(receiver))
    }

    /// Returns figures for metrics.
    pub fn stats(&self) -> Stats {
        self.queue.stats()
    }

    /// Returns how many threads embed.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.queue.stop();
        for thread in self.threads.drain(..) {
            // A worker catches what its batches throw; one that died all the same has nothing left to tell.
            let _ = thread.join();
        }
    }
}

/// An answer to come.
pub struct Pending<T = Embedded>(oneshot::Receiver<Result<T, Failure>>);

impl<T> Pending<T> {
    /// Waits for the answer without an async runtime.
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    pub fn wait(self) -> Result<T, Failure> {
        self.0.blocking_recv().unwrap_or(Err(Failure::Stopped))
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Failure>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        let answer = std::task::ready!(std::pin::Pin::new(&mut self.0).poll(context));
        std::task::Poll::Ready(answer.unwrap_or(Err(Failure::Stopped)))
    }
}
