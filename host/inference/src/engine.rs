//! The engine: texts of all requests in bounded queues, embedded in batches by a few dedicated threads.
//!
//! A request is split into pieces. A piece is first tokenized; texts of encoders then wait, with their ids, until a
//! thread takes as many of one model as make a batch, or its share if fewer wait: no text waits for others, and no
//! thread is idle while another has work for two. One text alone is embedded by all idle threads. Callers have turns
//! by weighted fair queueing, and a batch yields to short work of others every few milliseconds. Static models, and
//! texts that are only worked on, have a queue and threads of their own, so that they never wait for an encoder; a short
//! request that one of these threads would take at once is embedded where it came. Encoders' threads have a lower
//! priority than those that answer calls. A caller that leaves takes its texts out of the queue with it, and so does one
//! that waits for its first turn until its deadline. A panic fails the requests of its batch and nothing else.

mod job;
mod per_text;
mod queue;
mod scheduler;
#[cfg(test)]
mod tests;
mod work;
mod worker;

use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bulkhead_os::priority;
use tokio::sync::oneshot;

use crate::late_interaction::TokenVectors;
use crate::model::{EmbedOptions, Model, TextError};
use job::Job;
use per_text::{TextList, TextTask};
use queue::Queue;

pub use job::TextTimes;
pub use scheduler::{ByKind, Caller, CallerKind, Shares};

/// Bytes of a request that a static model embeds in less time than passing it to a thread and its answer back takes, or
/// little more.
const SHORT_BYTES: usize = 1024;

/// Steps of niceness of encoders' threads above the host's own; static models' threads have none. With so few an encoder
/// still gets a third of a processor beside a thread that goes on answering calls, or another process of the same control
/// group. That calls of microseconds do not wait for one is due to the slices of a lowered thread, and less to these.
const ENCODER_NICENESS: i32 = 3;

/// Settings of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Threads; 0 for one a processor.
    pub threads: usize,
    /// Texts that may wait, of encoders and of static models each; a request that finds no room for all of its texts is
    /// refused.
    pub queue_texts: usize,
    /// What kinds of callers get while others wait too.
    pub shares: Shares,
}

impl Default for EngineOptions {
    /// Returns a queue of seconds, not minutes: a client that waits longer has gone.
    fn default() -> Self {
        Self { threads: 0, queue_texts: 8192, shares: Shares::default() }
    }
}

/// One text, as characters or already as token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// To be tokenized.
    Text(String),
    /// Two texts, such as a question and a passage, to be tokenized as one.
    Pair(Arc<str>, String),
    /// Token ids that are used as they are: the caller adds special tokens and prompt, and truncates.
    Ids(Vec<u32>),
}

impl Input {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Pair(first, second) => first.len() + second.len(),
            Self::Ids(ids) => size_of_val(ids.as_slice()),
        }
    }

    /// Estimates the tokens that `model` makes of it.
    fn estimated_tokens(&self, model: &Model) -> usize {
        match self {
            Self::Text(text) => model.estimated_tokens(text.len()),
            Self::Pair(first, second) => model.estimated_tokens(first.len() + second.len()),
            Self::Ids(ids) => ids.len().min(model.description().max_input_length),
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
    /// When the caller stops waiting for the first turn.
    pub deadline: Instant,
    /// For whom.
    pub caller: Caller,
}

/// Vectors, and their cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// `[n, dims]` f32, row by row, in the order of the texts; logits of a classifier.
    pub vectors: Vec<f32>,
    /// Length of a vector.
    pub dims: usize,
    /// Vectors of each text's tokens or weights of terms; empty unless they were asked for and the model makes them.
    pub token_vectors: Vec<TokenVectors>,
    /// Tokens that were embedded, special tokens included.
    pub tokens: usize,
    /// Texts that were cut to the model's limit.
    pub truncated: usize,
    /// Time until the first turn that gave vectors, without that of tokenization.
    pub queued: Duration,
    /// Turns of all requests that began meanwhile, its own tokenization among them.
    pub queued_turns: u64,
    /// Processor time of its tokenization.
    pub tokenizing: Duration,
    /// Time of its share of batches, by tokens.
    pub inference: Duration,
    /// What each text took, in the order of the texts.
    pub text_times: Vec<TextTimes>,
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The queue has no room.
    #[error("{waiting} texts are waiting already")]
    Overloaded {
        /// How many.
        waiting: usize,
        /// How long the threads need for them, as far as measured.
        backlog: Duration,
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
    /// The texts have more terms together than the caller takes.
    #[error("the texts have more than {most} terms")]
    Terms {
        /// The most.
        most: usize,
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
    /// The same by kind of caller.
    pub waiting_by_kind: ByKind<usize>,
    /// Turns begun: pieces to tokenize, and batches.
    pub turns: u64,
    /// Batches embedded.
    pub batches: u64,
    /// Texts in them.
    pub texts: u64,
    /// Tokens in them.
    pub tokens: u64,
}

/// What sees the texts and tokens of each batch that was embedded.
pub type BatchObserver = Arc<dyn Fn(usize, usize) + Send + Sync>;

/// When the first turn of a request began, once it has.
type StartTime = Arc<OnceLock<Instant>>;

/// The threads and their queues. Dropping it ends the threads after the current batch; waiting requests fail.
pub struct Engine {
    encoders: Lane,
    /// Static models, and texts that are only worked on.
    light: Lane,
}

/// A queue and its threads.
struct Lane {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Lane {
    fn start(name: &str, niceness: i32, options: EngineOptions) -> io::Result<Self> {
        let wanted = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let queue = Arc::new(Queue::new(options.queue_texts, wanted, options.shares));
        let mut lane = Self { queue, threads: Vec::with_capacity(wanted) };
        for number in 0..wanted {
            let queue = Arc::clone(&lane.queue);
            let thread = std::thread::Builder::new().name(format!("{name}-{number}"));
            lane.threads.push(thread.spawn(move || {
                if niceness > 0 {
                    priority::lower(niceness);
                }
                worker::run(&queue);
            })?);
        }
        Ok(lane)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.queue.stop();
        for thread in self.threads.drain(..) {
            // A worker catches what its batches throw; one that died all the same has nothing left to tell.
            let _ = thread.join();
        }
    }
}

impl Engine {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(options: EngineOptions) -> io::Result<Self> {
        let encoders = Lane::start("inference", ENCODER_NICENESS, options)?;
        Ok(Self { encoders, light: Lane::start("static", 0, options)? })
    }

    /// Queues a request. The future is that of a [`oneshot::Receiver`]; dropping it withdraws the request.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] at once; everything else through the answer.
    pub fn embed(&self, model: &Arc<Model>, request: Request) -> Result<Pending, Failure> {
        let (sender, receiver) = oneshot::channel();
        let (start, caller) = (StartTime::default(), request.caller);
        let job = Job::new(Arc::clone(model), request, sender, Arc::clone(&start));
        self.lane(model).queue.submit(caller, &job)?;
        Ok(Pending { receiver, start })
    }

    /// Queues a request as [`embed`](Self::embed) does, or embeds it on the calling thread: a short one for a static model
    /// that a thread would take at once.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub fn embed_soon(&self, model: &Arc<Model>, request: Request) -> Result<Pending, Failure> {
        if model.batches() || request.texts.iter().map(Input::bytes).sum::<usize>() > SHORT_BYTES {
            return self.embed(model, request);
        }
        let (sender, receiver) = oneshot::channel();
        let (start, caller) = (StartTime::default(), request.caller);
        let job = Job::new(Arc::clone(model), request, sender, Arc::clone(&start));
        if let Some(task) = self.light.queue.submit_here(caller, &job)? {
            worker::perform_here(&self.light.queue, task);
        }
        Ok(Pending { receiver, start })
    }

    /// Queues texts and calls `work` on each, in their order. They wait in the same queue, and run on the same
    /// threads, as texts for static models, and take a place there for each 4 KiB; dropping the future withdraws
    /// those that no thread has taken.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] at once; everything else through the answer.
    pub fn map_texts<T: Send + 'static>(
        &self,
        caller: Caller,
        texts: Vec<String>,
        deadline: Instant,
        work: impl Fn(&str) -> Result<T, TextError> + Send + Sync + 'static,
    ) -> Result<Pending<Vec<T>>, Failure> {
        let (sender, receiver) = oneshot::channel();
        let start = StartTime::default();
        let bytes: Vec<usize> = texts.iter().map(String::len).collect();
        let job: Arc<dyn TextTask> =
            Arc::new(TextList::new(texts, deadline, work, sender, Arc::clone(&start)));
        self.light.queue.submit_tasks(caller, &job, &bytes)?;
        Ok(Pending { receiver, start })
    }

    /// Has `observer` see each batch from now on. The first observer stays.
    pub fn observe_batches(&self, observer: &BatchObserver) {
        for lane in [&self.encoders, &self.light] {
            lane.queue.observe(Arc::clone(observer));
        }
    }

    /// Replaces the shares of the kinds of callers, for turns from now on.
    pub fn set_shares(&self, shares: Shares) {
        for lane in [&self.encoders, &self.light] {
            lane.queue.set_shares(shares);
        }
    }

    /// Returns figures for metrics.
    pub fn stats(&self) -> Stats {
        let (encoders, light) = (self.encoders.queue.stats(), self.light.queue.stats());
        Stats {
            waiting_texts: encoders.waiting_texts + light.waiting_texts,
            waiting_by_kind: encoders.waiting_by_kind.plus(light.waiting_by_kind),
            turns: encoders.turns + light.turns,
            batches: encoders.batches + light.batches,
            texts: encoders.texts + light.texts,
            tokens: encoders.tokens + light.tokens,
        }
    }

    /// Returns how long the threads need for what waits in the queue of a model, as far as speeds have been measured.
    pub fn backlog(&self, model: &Model) -> Duration {
        self.lane(model).queue.backlog()
    }

    /// Returns how many tokens all threads embed with a model in `time`; `None` until its speed has been measured.
    pub fn capacity(&self, model: &Model, time: Duration) -> Option<usize> {
        Some(self.tokens_in(time, model.tokens_per_second()?))
    }

    /// Returns how many tokens all threads embed with a model in `time` where nothing else runs, as fast as the fastest
    /// batch so far; `None` until one has been measured.
    pub fn idle_capacity(&self, model: &Model, time: Duration) -> Option<usize> {
        Some(self.tokens_in(time, model.most_tokens_per_second()?))
    }

    fn tokens_in(&self, time: Duration, per_second: f64) -> usize {
        // The float cast saturates.
        (per_second * self.threads() as f64 * time.as_secs_f64()) as usize
    }

    /// Returns how many threads embed with encoders, and as many with static models.
    pub fn threads(&self) -> usize {
        self.encoders.threads.len()
    }

    fn lane(&self, model: &Model) -> &Lane {
        if model.batches() { &self.encoders } else { &self.light }
    }
}

/// Estimates the tokens that a model makes of texts.
pub fn estimated_tokens(model: &Model, texts: &[Input]) -> usize {
    texts.iter().map(|text| text.estimated_tokens(model)).sum()
}

/// An answer to come.
pub struct Pending<T = Embedded> {
    receiver: oneshot::Receiver<Result<T, Failure>>,
    start: StartTime,
}

impl<T> Pending<T> {
    /// Waits for the answer without an async runtime.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn wait(self) -> Result<T, Failure> {
        self.receiver.blocking_recv().unwrap_or(Err(Failure::Stopped))
    }

    /// Returns when the first turn began; `None` before.
    pub fn started(&self) -> Option<Instant> {
        self.start.get().copied()
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Failure>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        let answer = std::task::ready!(std::pin::Pin::new(&mut self.receiver).poll(context));
        std::task::Poll::Ready(answer.unwrap_or(Err(Failure::Stopped)))
    }
}
