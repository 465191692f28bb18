//! Embedding of one text by several threads.
//!
//! The work is split into phases and each phase into shares; a task is one share of one phase. Each thread takes the
//! next task index, waits until the phase before is done, and works. Indices are taken in order, so another thread is
//! working on whatever one waits for, and a single thread completes all tasks as well. A short text is split by
//! columns, as reading the weights is most of its work, a longer one by rows, which exchanges less. No vector changes
//! by a bit.

mod columns;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use self::columns::{Columns, Worker};
use self::rows::Rows;
use super::forward::Scratch;
use super::{Encoder, Pooling, TokenRows, Visit};
use crate::error::EmbedError;

/// Texts of fewer tokens are split by columns.
const SPLIT_ROWS_FROM: usize = 128;
/// Checks of the phase before, tens of microseconds in all, until the thread yields its processor.
const SPINS: usize = 500;

/// The work on one text.
pub(crate) struct WorkGroup {
    text: Text,
    split: Split,
    tasks: Tasks,
}

/// The text to embed, and its encoder.
struct Text {
    encoder: Arc<Encoder>,
    ids: Vec<u32>,
    pooling: Pooling,
}

enum Split {
    Rows(Rows),
    Columns(Columns),
}

impl WorkGroup {
    /// Prepares work on one text for up to `threads` threads.
    ///
    /// # Errors
    ///
    /// When the text cannot be embedded.
    pub(crate) fn new(
        encoder: &Arc<Encoder>,
        ids: Vec<u32>,
        pooling: Pooling,
        threads: usize,
    ) -> Result<Self, EmbedError> {
        encoder.check(&ids, &[0, ids.len()], encoder.dims())?;
        let text = Text { encoder: Arc::clone(encoder), ids, pooling };
        // The split by columns knows no gates.
        let (split, phases, shares) = if text.ids.len() < SPLIT_ROWS_FROM && !encoder.config.gated {
            let columns = Columns::new(&text, threads);
            let (phases, shares) = columns.size(&text);
            (Split::Columns(columns), phases, shares)
        } else {
            let rows = Rows::new(&text, threads);
            let (phases, shares) = rows.size(&text);
            (Split::Rows(rows), phases, shares)
        };
        Ok(Self { text, split, tasks: Tasks::new(phases, shares) })
    }

    /// Returns how many more threads can take part without waiting for a task.
    pub(crate) fn helpers(&self) -> usize {
        self.tasks.shares.saturating_sub(1)
    }

    /// Takes part until no task is left.
    pub(crate) fn help(&self, scratch: &mut Scratch) {
        match &self.split {
            Split::Rows(rows) => {
                self.tasks.run_all(|phase, share| rows.work(&self.text, phase, share, scratch));
            }
            Split::Columns(columns) => {
                let mut worker = Worker::new(scratch);
                self.tasks.run_all(|phase, share| columns.work(&self.text, phase, share, &mut worker));
            }
        }
    }

    /// Takes part, and returns the text's vector, not normalised; `visit` sees those of its tokens.
    ///
    /// # Errors
    ///
    /// When another thread panicked, or the vector is not finite.
    pub(crate) fn run(&self, scratch: &mut Scratch, visit: &mut Visit<'_>) -> Result<Vec<f32>, EmbedError> {
        self.help(scratch);
        if !self.tasks.all_done() {
            return Err(EmbedError::Panicked("another thread of this text panicked".to_owned()));
        }
        let encoder = &self.text.encoder;
        let rows = match &self.split {
            Split::Rows(rows) => rows.hidden(),
            Split::Columns(columns) => columns.hidden(&self.text, scratch),
        };
        let mut out = vec![0.0; encoder.dims()];
        let stride = encoder.packed.layout().hidden;
        self.text.pooling.pool(&rows, stride, &mut out);
        visit(0, TokenRows { rows: &rows, stride });
        if out.iter().all(|x| x.is_finite()) { Ok(out) } else { Err(EmbedError::NotFinite { text: 0 }) }
    }
}

/// The task counter: the next index, and how many tasks are done.
struct Tasks {
    shares: usize,
    total: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicBool,
}

/// Sets a flag when its thread panics, as the others would wait for ever.
struct PanicFlag<'a>(&'a AtomicBool);

impl Drop for PanicFlag<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl Tasks {
    fn new(phases: usize, shares: usize) -> Self {
        let (next, done, failed) = Default::default();
        Self { shares, total: phases * shares, next, done, failed }
    }

    /// Takes task indices and calls `work` with the number of phase and share, until none is left.
    fn run_all(&self, mut work: impl FnMut(usize, usize)) {
        let _flag = PanicFlag(&self.failed);
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            let phase = task / self.shares;
            if task >= self.total || !self.wait(phase * self.shares) {
                return;
            }
            work(phase, task % self.shares);
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    fn all_done(&self) -> bool {
        self.wait(self.total)
    }

    /// Waits until so many tasks are done; false if a thread panicked.
    fn wait(&self, tasks: usize) -> bool {
        let mut spins = 0;
        while self.done.load(Ordering::Acquire) < tasks {
            if self.failed.load(Ordering::Acquire) {
                return false;
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }
}

/// A buffer that one share of a phase writes for those of a later one. The order of tasks separates writer and
/// readers; the lock proves it.
struct Shared<T>(RwLock<T>);

impl<T: Default> Shared<T> {
    fn all(shares: usize) -> Vec<Self> {
        (0..shares).map(|_| Self(RwLock::default())).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
