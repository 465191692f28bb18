//! The epoch clock: a thread that advances wasmtime's epoch while guests run.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Time between two epochs, the resolution of CPU budgets.
const TICK: Duration = Duration::from_millis(1);
/// Number of ticks without a guest after which the thread parks: waking it takes a system call and two switches of threads,
/// longer than a short call.
const IDLE_TICKS: u32 = 4;

/// Advances the epoch from its own thread, so that no guest can delay it. Sleeps once no guest has run for [`IDLE_TICKS`].
#[derive(Debug)]
pub(super) struct Ticker {
    state: Arc<TickerState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct TickerState {
    running: AtomicUsize,
    /// Number of guards that have been made.
    begun: AtomicU64,
    stopped: AtomicBool,
    /// How often it has ticked.
    ticks: AtomicU64,
}

impl Ticker {
    /// Starts a thread that calls `tick` every [`TICK`] while a guard exists.
    pub(super) fn start(tick: impl Fn() + Send + 'static) -> io::Result<Self> {
        let state = Arc::new(TickerState::default());
        let shared = Arc::clone(&state);
        let thread = thread::Builder::new().name("epoch".into()).spawn(move || {
            let mut idle = IdleCount { begun: 0, ticks: IDLE_TICKS };
            while !shared.stopped.load(Ordering::Acquire) {
                let begun = shared.begun.load(Ordering::Acquire);
                if idle.is_over(begun, shared.running.load(Ordering::Acquire)) {
                    thread::park();
                } else {
                    thread::sleep(TICK);
                    tick();
                    shared.ticks.fetch_add(1, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Returns a guard, and wakes the thread for the first one.
    pub(super) fn running(&self) -> RunningGuard {
        self.state.begun.fetch_add(1, Ordering::AcqRel);
        if self.state.running.fetch_add(1, Ordering::AcqRel) == 0
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        RunningGuard(Arc::clone(&self.state))
    }

    /// Waits until it has ticked after this call. Never returns while its thread stands still. Safe to cancel.
    pub(super) async fn ticked(&self) {
        let _running = self.running();
        let seen = self.state.ticks.load(Ordering::Relaxed);
        while self.state.ticks.load(Ordering::Relaxed) == seen {
            tokio::time::sleep(TICK).await;
        }
    }
}

/// Counts the ticks without a guest.
struct IdleCount {
    /// Number of guards that had been made at the last tick.
    begun: u64,
    ticks: u32,
}

impl IdleCount {
    /// Returns whether no guest has run for [`IDLE_TICKS`]; called once a tick.
    fn is_over(&mut self, begun: u64, running: usize) -> bool {
        let is_idle = running == 0 && begun == self.begun;
        self.ticks = if is_idle { self.ticks.saturating_add(1) } else { 0 };
        self.begun = begun;
        self.ticks > IDLE_TICKS
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// A guard that keeps the epoch advancing until it is dropped.
#[derive(Debug)]
pub struct RunningGuard(Arc<TickerState>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Instant;

    use super::*;

    /// Only a failing test waits so long.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn counting() -> (Ticker, Arc<AtomicUsize>) {
        let ticks = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ticks);
        let tick = move || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        (Ticker::start(tick).unwrap(), ticks)
    }

    /// Waits for several more ticks.
    fn await_ticks(ticks: &AtomicUsize) {
        let goal = ticks.load(Ordering::Relaxed) + 5;
        let patience = Instant::now() + PATIENCE;
        while ticks.load(Ordering::Relaxed) < goal {
            assert!(Instant::now() < patience, "it does not tick");
            thread::sleep(TICK);
        }
    }

    /// Waits until no tick happens for the time of many ticks.
    fn await_rest(ticks: &AtomicUsize) {
        let patience = Instant::now() + PATIENCE;
        loop {
            let before = ticks.load(Ordering::Relaxed);
            thread::sleep(TICK * 50);
            if ticks.load(Ordering::Relaxed) == before {
                return;
            }
            assert!(Instant::now() < patience, "it does not stop ticking");
        }
    }

    #[test]
    fn guest_between_ticks_is_no_rest() {
        let mut idle = IdleCount { begun: 0, ticks: IDLE_TICKS };
        assert!(idle.is_over(0, 0), "it starts idle");
        for begun in 1..=10 {
            assert!(!idle.is_over(begun, 0), "a guest has run since the last tick");
        }
        assert!(!idle.is_over(10, 1), "a guest runs");
        let ticks = (1..=IDLE_TICKS).map(|_| idle.is_over(10, 0)).collect::<Vec<_>>();
        assert!(!ticks.contains(&true), "{ticks:?}");
        assert!(idle.is_over(10, 0));
    }

    #[test]
    fn ticker_rests_after_its_last_guard() {
        let (ticker, ticks) = counting();
        assert_eq!(ticks.load(Ordering::Relaxed), 0, "it starts idle");
        for _ in 0..3 {
            let running = ticker.running();
            await_ticks(&ticks);
            drop(running);
            await_rest(&ticks);
        }
    }

    #[test]
    fn last_dropped_guard_stops_ticking() {
        let (ticker, ticks) = counting();
        let (first, second) = (ticker.running(), ticker.running());
        await_ticks(&ticks);
        drop(first);
        await_ticks(&ticks);
        drop(second);
        await_rest(&ticks);
    }

    #[tokio::test]
    async fn idle_ticker_ticks_when_asked() {
        let (ticker, ticks) = counting();
        tokio::time::timeout(PATIENCE, ticker.ticked()).await.unwrap();
        assert!(ticks.load(Ordering::Relaxed) > 0);
        await_rest(&ticks);
    }

    #[test]
    fn dropped_ticker_ends_its_thread() {
        let (ticker, ticks) = counting();
        let _running = ticker.running();
        drop(ticker);
        // The thread owned the other reference.
        assert_eq!(Arc::strong_count(&ticks), 1);
    }
}
