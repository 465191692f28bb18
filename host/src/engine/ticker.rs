use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Time between two epochs: the grain of CPU budgets.
pub const TICK: Duration = Duration::from_millis(1);

/// Advances the epoch from a thread of its own, so that no guest can hold it up. Sleeps
/// while nothing runs.
#[derive(Debug)]
pub(super) struct Ticker {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    running: AtomicUsize,
    stopped: AtomicBool,
}

impl Ticker {
    /// Calls `tick` every [`TICK`] while something runs.
    pub(super) fn start(tick: impl Fn() + Send + 'static) -> io::Result<Self> {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let thread = thread::Builder::new().name("epoch".into()).spawn(move || {
            while !shared.stopped.load(Ordering::Acquire) {
                if shared.running.load(Ordering::Acquire) == 0 {
                    thread::park();
                } else {
                    thread::sleep(TICK);
                    tick();
                }
            }
        })?;
        Ok(Self { state, thread: Some(thread) })
    }

    pub(super) fn running(&self) -> Running {
        if self.state.running.fetch_add(1, Ordering::AcqRel) == 0
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        Running(Arc::clone(&self.state))
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

/// While one of these lives, the epoch advances.
#[derive(Debug)]
pub struct Running(Arc<State>);

impl Drop for Running {
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

    /// Waits until it has ticked some more.
    fn await_ticks(ticks: &AtomicUsize) {
        let goal = ticks.load(Ordering::Relaxed) + 5;
        let patience = Instant::now() + PATIENCE;
        while ticks.load(Ordering::Relaxed) < goal {
            assert!(Instant::now() < patience, "it does not tick");
            thread::sleep(TICK);
        }
    }

    /// Waits until it has not ticked over the time of many ticks.
    fn await_rest(ticks: &AtomicUsize) {
        let patience = Instant::now() + PATIENCE;
        loop {
            let before = ticks.load(Ordering::Relaxed);
            thread::sleep(TICK * 50);
            if ticks.load(Ordering::Relaxed) == before {
                return;
            }
            assert!(Instant::now() < patience, "it does not come to rest");
        }
    }

    #[test]
    fn it_ticks_only_while_something_runs() {
        let (ticker, ticks) = counting();
        assert_eq!(ticks.load(Ordering::Relaxed), 0, "it begins at rest");
        for _ in 0..3 {
            let running = ticker.running();
            await_ticks(&ticks);
            drop(running);
            await_rest(&ticks);
        }
    }

    #[test]
    fn the_last_of_several_calls_puts_it_to_rest() {
        let (ticker, ticks) = counting();
        let (first, second) = (ticker.running(), ticker.running());
        await_ticks(&ticks);
        drop(first);
        await_ticks(&ticks);
        drop(second);
        await_rest(&ticks);
    }

    #[test]
    fn dropping_it_ends_its_thread_even_while_something_runs() {
        let (ticker, ticks) = counting();
        let _running = ticker.running();
        drop(ticker);
        // The thread held the other reference.
        assert_eq!(Arc::strong_count(&ticks), 1);
    }
}
