//! One text over several threads.
//!
//! The work is cut into phases and each phase into shares; a ticket is one share of one phase. Whoever takes part
//! draws the next ticket, waits until the phase before is done, and works. Tickets are drawn in order, so whatever
//! one waits for is being worked on, and one thread alone gets through as well. A short text is cut by columns, as
//! reading the weights is most of its work, a longer one by rows, which exchanges less. No vector changes by a bit.

mod columns;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use self::columns::{Columns, Member};
use self::rows::Rows;
use super::forward::Scratch;
use super::{Encoder, Pooling, TokenRows, Visit};
use crate::error::EmbedError;

/// Texts of fewer tokens are cut by columns.
const ROWS_FROM: usize = 128;
/// Looks at the phase before, tens of microseconds in all, until the thread offers its processor to others.
const LOOKS: usize = 500;

/// The work on one text.
pub(crate) struct Team {
    text: Text,
    cut: Cut,
    tickets: Tickets,
}

/// What is embedded, and with what.
struct Text {
    encoder: Arc<Encoder>,
    ids: Vec<u32>,
    pooling: Pooling,
}

enum Cut {
    Rows(Rows),
    Columns(Columns),
}

impl Team {
    /// Work on one text for up to `threads` threads.
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
        let (cut, phases, shares) = if text.ids.len() < ROWS_FROM {
            let columns = Columns::new(&text, threads);
            let (phases, shares) = columns.size(&text);
            (Cut::Columns(columns), phases, shares)
        } else {
            let rows = Rows::new(&text, threads);
            let (phases, shares) = rows.size(&text);
            (Cut::Rows(rows), phases, shares)
        };
        Ok(Self { text, cut, tickets: Tickets::new(phases, shares) })
    }

    /// How many threads can take part beside the first without waiting for their turn.
    pub(crate) fn helpers(&self) -> usize {
        self.tickets.shares.saturating_sub(1)
    }

    /// Takes part until no ticket is left.
    pub(crate) fn help(&self, scratch: &mut Scratch) {
        match &self.cut {
            Cut::Rows(rows) => {
                self.tickets.work_off(|phase, share| rows.work(&self.text, phase, share, scratch));
            }
            Cut::Columns(columns) => {
                let mut member = Member::new(scratch);
                self.tickets.work_off(|phase, share| columns.work(&self.text, phase, share, &mut member));
            }
        }
    }

    /// Takes part, and returns the text's vector, not normalised; `visit` sees those of its tokens.
    ///
    /// # Errors
    ///
    /// When another thread panicked, or the vector is not finite.
    pub(crate) fn lead(&self, scratch: &mut Scratch, visit: &mut Visit<'_>) -> Result<Vec<f32>, EmbedError> {
        self.help(scratch);
        if !self.tickets.all_done() {
            return Err(EmbedError::Panicked("another thread of this text panicked".to_owned()));
        }
        let encoder = &self.text.encoder;
        let rows = match &self.cut {
            Cut::Rows(rows) => rows.hidden(),
            Cut::Columns(columns) => columns.hidden(&self.text, scratch),
        };
        let mut out = vec![0.0; encoder.dims()];
        let stride = encoder.packed.layout().hidden;
        self.text.pooling.pool(&rows, stride, &mut out);
        visit(0, TokenRows { rows: &rows, stride });
        if out.iter().all(|x| x.is_finite()) { Ok(out) } else { Err(EmbedError::NotFinite { text: 0 }) }
    }
}

/// Who works on what, and how far the work is.
struct Tickets {
    shares: usize,
    total: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicBool,
}

/// Tells the others when its thread panics, for they would wait for ever.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl Tickets {
    fn new(phases: usize, shares: usize) -> Self {
        let (next, done, failed) = Default::default();
        Self { shares, total: phases * shares, next, done, failed }
    }

    /// Draws tickets, number of phase and of share, and works on them, until none is left.
    fn work_off(&self, mut work: impl FnMut(usize, usize)) {
        let _alarm = Alarm(&self.failed);
        loop {
            let ticket = self.next.fetch_add(1, Ordering::Relaxed);
            let phase = ticket / self.shares;
            if ticket >= self.total || !self.wait(phase * self.shares) {
                return;
            }
            work(phase, ticket % self.shares);
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    fn all_done(&self) -> bool {
        self.wait(self.total)
    }

    /// Waits until so many tickets are done; false if that will never be.
    fn wait(&self, tickets: usize) -> bool {
        let mut looks = 0;
        while self.done.load(Ordering::Acquire) < tickets {
            if self.failed.load(Ordering::Acquire) {
                return false;
            }
            if looks < LOOKS {
                looks += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }
}

/// What one share of a phase leaves to those of a later one. The tickets keep writer and readers apart; the lock is
/// what proves it.
struct Left<T>(RwLock<T>);

impl<T: Default> Left<T> {
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
