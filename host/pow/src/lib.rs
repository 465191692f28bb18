//! Derives proof-of-work keys on a pool of threads with a bounded queue.

mod algorithm;
mod challenges;
mod kdf;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    fmt, io,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

use self::challenges::ChallengePool;
pub use self::{
    algorithm::PowAlgorithm,
    challenges::{ChallengeSpec, MintedChallenge},
    kdf::{KdfParameters, ParameterError},
};

/// Seconds after which a refused caller should retry.
const RETRY_AFTER_SECONDS: u32 = 1;

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub enum PowError {
    /// A parameter is over a cap.
    #[error(transparent)]
    Refused(#[from] ParameterError),
    /// All threads are busy and the queue is full.
    #[error(
        "all proof-of-work threads are busy and the queue is full; raise sandbox.pow_threads or sandbox.pow_queue"
    )]
    Busy {
        /// When to retry, seconds.
        retry_after: u32,
    },
    /// The host is stopping, or the job panicked.
    #[error("the proof-of-work threads have stopped")]
    Stopped,
}

/// Runs a job on a worker thread and returns how to send its result.
type PowJob = Box<dyn FnOnce() -> JobCompletion + Send>;
/// Sends the result of a job to its caller.
type JobCompletion = Box<dyn FnOnce() + Send>;

/// A pool of threads that derive keys. When a caller cancels, its running derivation keeps its thread to the end and
/// its queued derivation is dropped. Idle threads mint challenges in advance.
pub struct Pow {
    shared: Arc<SharedQueue>,
    threads: Vec<JoinHandle<()>>,
}

/// What the workers and the callers share.
struct SharedQueue {
    state: Mutex<PowState>,
    work: Condvar,
    queue_length: usize,
    threads: usize,
}

#[derive(Default)]
struct PowState {
    jobs: VecDeque<PowJob>,
    /// Threads that run a job.
    busy: usize,
    challenges: ChallengePool,
    stopped: bool,
}

impl fmt::Debug for Pow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pow").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Pow {
    /// Starts `threads` workers (one per core when 0) with a queue of `queue_length` jobs.
    ///
    /// # Errors
    /// Fails when a thread cannot be started.
    pub fn start(threads: usize, queue_length: usize) -> io::Result<Self> {
        let cores = || thread::available_parallelism().map_or(1, Into::into);
        let count = if threads == 0 { cores() } else { threads };
        let shared = Arc::new(SharedQueue {
            state: Mutex::default(),
            work: Condvar::new(),
            queue_length,
            threads: count,
        });
        let spawn = |index| {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name(format!("pow-{index}")).spawn(move || shared.work())
        };
        let threads = (0..count).map(spawn).collect::<io::Result<_>>()?;
        Ok(Self { shared, threads })
    }

    /// Derives the key for `password` and `salt`.
    ///
    /// # Errors
    /// Fails when a parameter is over a cap or the queue is full.
    pub async fn derive(
        &self,
        parameters: KdfParameters,
        password: Vec<u8>,
        salt: Vec<u8>,
    ) -> Result<Vec<u8>, PowError> {
        parameters.check(&password, &salt)?;
        if parameters.is_quick() {
            return Ok(parameters.derive(&password, &salt)?);
        }
        Ok(self.run(move || parameters.derive(&password, &salt)).await??)
    }

    /// Returns a random challenge with its solution: one that was minted in advance, or else a new one.
    ///
    /// # Errors
    /// Fails when a parameter is over a cap or the queue is full.
    pub async fn mint(&self, spec: ChallengeSpec) -> Result<MintedChallenge, PowError> {
        spec.check()?;
        let ready = self.shared.lock().challenges.take(spec);
        self.shared.work.notify_one();
        match ready {
            Some(challenge) => Ok(challenge),
            None => Ok(self.run(move || spec.mint()).await??),
        }
    }

    /// Returns how many jobs wait for a thread.
    pub fn queued(&self) -> usize {
        self.shared.lock().jobs.len()
    }

    /// Runs other CPU-bound work, such as comparing a password with its hash.
    ///
    /// # Errors
    /// Fails when the queue is full, the pool has stopped, or `work` panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PowError> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if state.stopped {
                return Err(PowError::Stopped);
            }
            // A thread that mints takes the next job when it is done, so it counts as free.
            if state.busy + state.jobs.len() >= self.shared.threads + self.shared.queue_length {
                return Err(PowError::Busy { retry_after: RETRY_AFTER_SECONDS });
            }
            state.jobs.push_back(Box::new(move || {
                if sender.is_closed() {
                    return Box::new(|| {});
                }
                let result = work();
                Box::new(move || drop(sender.send(result)))
            }));
        }
        self.shared.work.notify_one();
        receiver.await.map_err(|_| PowError::Stopped)
    }
}

impl Drop for Pow {
    fn drop(&mut self) {
        let jobs = {
            let mut state = self.shared.lock();
            state.stopped = true;
            std::mem::take(&mut state.jobs)
        };
        drop(jobs);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl SharedQueue {
    fn lock(&self) -> MutexGuard<'_, PowState> {
        // Jobs run outside the lock, so a panic cannot leave the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs jobs, and mints challenges while there are none, until the pool stops.
    fn work(&self) {
        let mut state = self.lock();
        while !state.stopped {
            if let Some(job) = state.jobs.pop_front() {
                state.busy += 1;
                drop(state);
                // A panic must not end the thread; the caller sees its channel close.
                let outcome = panic::catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                state.busy -= 1;
                // Only now, so that a caller that has its result finds the thread free.
                if let Ok(complete) = outcome {
                    complete();
                }
            } else if let Some(spec) = state.challenges.next_to_mint() {
                drop(state);
                let challenge = spec.mint();
                state = self.lock();
                state.challenges.add(spec, challenge.ok());
            } else {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
