//! Threads that encode: plain threads with scratch of their own, fed through one queue.
//!
//! A unit of work is a set of texts of at most about 512 tokens. A panic is an error of its unit alone: the
//! thread drops its scratch and goes on. A lone long text is shared out over idle threads.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use crate::encoder::team::Team;
use crate::encoder::{Encoder, Scratch, UNIT_TOKENS, unit};
use crate::error::EmbedError;
use crate::pooling::Pooling;

/// A lone text of at least so many tokens is worth more than one idle thread.
const SHARED_TOKENS: usize = 48;

type Job = Box<dyn FnOnce(&mut Scratch) + Send>;

/// Texts that are encoded together.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The ids of all texts, one text after the other.
    pub ids: Vec<u32>,
    /// Where each text begins, and the end: `[texts + 1]`.
    pub offsets: Vec<usize>,
    /// How token vectors become a text's.
    pub pooling: Pooling,
}

/// A fixed set of threads. Dropping it finishes the work that is queued.
pub struct Workers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Threads that wait for a job.
    waiting: usize,
    closed: bool,
}

impl Workers {
    /// Starts threads.
    ///
    /// # Errors
    ///
    /// When the system starts no more.
    pub fn new(threads: NonZeroUsize) -> std::io::Result<Self> {
        let mut workers = Self { queue: Arc::default(), threads: Vec::new() };
        for index in 0..threads.get() {
            let queue = Arc::clone(&workers.queue);
            let thread = std::thread::Builder::new().name(format!("encode-{index}"));
            workers.threads.push(thread.spawn(move || queue.work())?);
        }
        Ok(workers)
    }

    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Queues a unit; `done` is called on the thread that encoded it, with vectors `[texts, dims]` that are not
    /// normalised. It should only pass them on.
    pub fn submit(
        &self,
        encoder: &Arc<Encoder>,
        unit: Unit,
        done: impl FnOnce(Result<Vec<f32>, EmbedError>) + Send + 'static,
    ) {
        let helpers =
            if unit.offsets.len() == 2 && unit.ids.len() >= SHARED_TOKENS { self.idle() } else { 0 };
        if helpers > 1 {
            return self.share_out(encoder, unit, helpers, done);
        }
        let encoder = Arc::clone(encoder);
        self.run(
            move |scratch| {
                let mut out = vec![0.0; unit.offsets.len().saturating_sub(1) * encoder.dims()];
                encoder.embed(&unit.ids, &unit.offsets, unit.pooling, scratch, &mut out)?;
                Ok(out)
            },
            done,
        );
    }

    /// Embeds a batch over all threads and waits. Arguments are those of `Encoder::embed`; one result a text, so
    /// that a text at fault costs no other its vector.
    #[must_use]
    pub fn embed_batch(
        &self,
        encoder: &Arc<Encoder>,
        ids: &[u32],
        offsets: &[usize],
        pooling: Pooling,
        out: &mut [f32],
    ) -> Vec<Result<(), EmbedError>> {
        let texts = offsets.len().saturating_sub(1);
        let dims = encoder.dims();
        if offsets.last() != Some(&ids.len()) || !offsets.is_sorted() || texts * dims != out.len() {
            let fault = EmbedError::Shape { texts, reason: "ids, offsets and output differ in length" };
            return vec![Err(fault); texts];
        }
        let share = ids.len().div_ceil(self.threads()).clamp(1, UNIT_TOKENS);
        let mut spans = Vec::new();
        let mut first = 0;
        while first < texts {
            let length = unit(offsets.get(first..).unwrap_or_default(), share);
            spans.push(first..first + length);
            first += length;
        }
        let mut results = vec![Ok(()); texts];
        for single in [false, true] {
            let (sender, receiver) = mpsc::channel();
            for span in spans.drain(..) {
                let sender = sender.clone();
                let unit = slice(ids, offsets, span.clone(), pooling);
                self.submit(encoder, unit, move |vectors| {
                    sender.send((span, vectors)).ok();
                });
            }
            drop(sender);
            for (span, vectors) in receiver {
                match vectors {
                    Ok(vectors) => {
                        let out = out.get_mut(span.start * dims..span.end * dims).unwrap_or_default();
                        out.copy_from_slice(&vectors);
                    }
                    // Each text once more by itself: which one is at fault?
                    Err(_) if !single && span.len() > 1 => spans.extend(span.map(|text| text..text + 1)),
                    Err(fault) => {
                        if let Some(result) = results.get_mut(span.start) {
                            *result = Err(fault.of_text(span.start));
                        }
                    }
                }
            }
        }
        results
    }

    /// Queues one text for several threads.
    fn share_out(
        &self,
        encoder: &Arc<Encoder>,
        unit: Unit,
        threads: usize,
        done: impl FnOnce(Result<Vec<f32>, EmbedError>) + Send + 'static,
    ) {
        let team = match Team::new(encoder, unit.ids, threads) {
            Ok(team) => Arc::new(team),
            Err(fault) => return self.run(move |_| Err(fault), done),
        };
        for _ in 1..threads {
            let team = Arc::clone(&team);
            let help = move |scratch: &mut Scratch| {
                team.help(scratch);
                Ok(())
            };
            self.run(help, |_| ());
        }
        self.run(move |scratch| team.lead(unit.pooling, scratch), done);
    }

    /// Threads with nothing to do, now and with the work that is queued.
    fn idle(&self) -> usize {
        let state = self.queue.lock();
        state.waiting.saturating_sub(state.jobs.len())
    }

    /// Queues any work on scratch; a panic in it becomes an error.
    fn run<T>(
        &self,
        work: impl FnOnce(&mut Scratch) -> Result<T, EmbedError> + Send + 'static,
        done: impl FnOnce(Result<T, EmbedError>) + Send + 'static,
    ) {
        let job = Box::new(move |scratch: &mut Scratch| {
            let result = catch_unwind(AssertUnwindSafe(|| work(scratch))).unwrap_or_else(|panic| {
                // It may have been left half changed.
                *scratch = Scratch::new();
                Err(EmbedError::Panicked(message(panic.as_ref())))
            });
            done(result);
        });
        self.queue.lock().jobs.push_back(job);
        self.queue.ready.notify_one();
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.ready.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

impl Queue {
    /// A thread's life.
    fn work(&self) {
        let mut scratch = Scratch::new();
        while let Some(job) = self.next() {
            // Of `done` only, as the work catches its own; its waiter sees a closed channel.
            if catch_unwind(AssertUnwindSafe(|| job(&mut scratch))).is_err() {
                scratch = Scratch::new();
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state.waiting += 1;
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    /// No code that can panic runs under the lock, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Texts `span` of a batch as a unit of its own.
fn slice(ids: &[u32], offsets: &[usize], span: std::ops::Range<usize>, pooling: Pooling) -> Unit {
    let offsets = offsets.get(span.start..=span.end).unwrap_or_default();
    let (from, to) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    Unit {
        ids: ids.get(from..to).unwrap_or_default().to_vec(),
        offsets: offsets.iter().map(|offset| offset - from).collect(),
        pooling,
    }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
