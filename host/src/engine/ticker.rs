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

/// Advances the engine's epoch from a thread of its own, so that no guest can hold it up. Sleeps
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
    pub(super) fn start(engine: wasmtime::Engine) -> io::Result<Self> {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let thread = thread::Builder::new().name("epoch".into()).spawn(move || {
            while !shared.stopped.load(Ordering::Acquire) {
                if shared.running.load(Ordering::Acquire) == 0 {
                    thread::park();
                } else {
                    thread::sleep(TICK);
                    engine.increment_epoch();
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
