//! Proof-of-work keys: derived on threads of their own, a bounded number at once.

mod algorithm;
mod kdf;
mod minted;
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

use self::minted::MintedPool;
pub use self::minted::{Minted, Recipe};
pub use self::{
    algorithm::Algorithm,
    kdf::{Parameters, Refused},
};

/// Seconds after which a refused caller should ask again.
const RETRY_AFTER_SECONDS: u32 = 1;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum PowError {
    /// Over a cap.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// All threads work and the queue is full.
    #[error("all proof-of-work places are taken; raise sandbox.pow_threads or sandbox.pow_queue")]
    Busy {
        /// When to ask again, seconds.
        retry_after: u32,
    },
    /// The host stops.
    #[error("the proof-of-work threads have stopped")]
    Stopped,
}

/// Work, which gives back what tells its caller.
type Job = Box<dyn FnOnce() -> Tell + Send>;
type Tell = Box<dyn FnOnce() + Send>;

/// Threads that derive keys. A running derivation keeps its thread to the end even when its caller has
/// left, a waiting one is dropped then. Idle threads mint challenges ahead.
pub struct Pow {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    queue_length: usize,
    threads: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    busy: usize,
    minted: MintedPool,
    stopped: bool,
}

impl fmt::Debug for Pow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pow").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Pow {
    /// `threads` workers (one a core when 0) and a queue of `queue_length` jobs.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(threads: usize, queue_length: usize) -> io::Result<Self> {
        let cores = || thread::available_parallelism().map_or(1, Into::into);
        let count = if threads == 0 { cores() } else { threads };
        let shared =
            Arc::new(Shared { state: Mutex::default(), work: Condvar::new(), queue_length, threads: count });
        let spawn = |index| {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name(format!("pow-{index}")).spawn(move || shared.work())
        };
        let threads = (0..count).map(spawn).collect::<io::Result<_>>()?;
        Ok(Self { shared, threads })
    }

    /// The key for `password` and `salt`.
    ///
    /// # Errors
    /// Over a cap, or when all places are taken.
    pub async fn derive(
        &self,
        parameters: Parameters,
        password: Vec<u8>,
        salt: Vec<u8>,
    ) -> Result<Vec<u8>, PowError> {
        parameters.check(&password, &salt)?;
        Ok(self.run(move || parameters.derive(&password, &salt)).await??)
    }

    /// A random challenge with its answer, from those minted ahead when there is one.
    ///
    /// # Errors
    /// Over a cap, or when all places are taken.
    pub async fn mint(&self, recipe: Recipe) -> Result<Minted, PowError> {
        recipe.check()?;
        let ready = self.shared.lock().minted.take(recipe);
        self.shared.work.notify_one();
        match ready {
            Some(minted) => Ok(minted),
            None => Ok(self.run(move || recipe.mint()).await??),
        }
    }

    /// Jobs that wait for a thread.
    pub fn queued(&self) -> usize {
        self.shared.lock().jobs.len()
    }

    /// Any work of that kind, such as comparing a password with its hash.
    ///
    /// # Errors
    /// When all places are taken.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PowError> {
        let (answer, waiting) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if state.stopped {
                return Err(PowError::Stopped);
            }
            // A thread that mints takes the next job as soon as it is done, so it counts as free.
            if state.busy + state.jobs.len() >= self.shared.threads + self.shared.queue_length {
                return Err(PowError::Busy { retry_after: RETRY_AFTER_SECONDS });
            }
            state.jobs.push_back(Box::new(move || {
                if answer.is_closed() {
                    return Box::new(|| {});
                }
                let done = work();
                Box::new(move || drop(answer.send(done)))
            }));
        }
        self.shared.work.notify_one();
        waiting.await.map_err(|_| PowError::Stopped)
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Jobs run outside the lock, so a panic cannot leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        while !state.stopped {
            if let Some(job) = state.jobs.pop_front() {
                state.busy += 1;
                drop(state);
                // A panic must not cost the pool a thread; the caller sees its answer's channel close.
                let done = panic::catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                state.busy -= 1;
                // Only now, so that a caller who asks again at once finds the place free.
                if let Ok(tell) = done {
                    tell();
                }
            } else if let Some(recipe) = state.minted.wanted() {
                drop(state);
                let minted = recipe.mint();
                state = self.lock();
                state.minted.put(recipe, minted.ok());
            } else {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
