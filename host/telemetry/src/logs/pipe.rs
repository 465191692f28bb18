//! Lines on their way out: whoever logs hands a line over and goes on, and a thread of its own writes it. A reader that
//! does not keep up costs lines, never time.

use std::{
    io::{self, Write},
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// Text that may wait, bytes: some ten thousand lines, a second of the busiest log. As much again may be being written.
const MAX_WAITING: usize = 4 << 20;

/// Where lines are handed over. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    writing: bool,
}

impl Pipe {
    /// A pipe to `out`, with its thread.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let pipe = Self::default();
        let writer = pipe.clone();
        thread::Builder::new().name("log".into()).spawn(move || writer.write_to(out))?;
        Ok(pipe)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut out: impl Write) {
        let mut lines = Vec::new();
        loop {
            let state = self.state();
            let waits = |state: &mut State| state.waiting.is_empty();
            let mut state = self.0.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut lines, &mut state.waiting);
            state.writing = true;
            drop(state);
            // Where it cannot be written there is nobody to tell.
            let _ = out.write_all(&lines).and_then(|()| out.flush());
            lines.clear();
            self.state().writing = false;
            self.0.changed.notify_all();
        }
    }

    /// Hands over whole lines; they are dropped, and counted as one, where too much waits already.
    pub(super) fn hand_over(&self, lines: &[u8]) {
        let mut state = self.state();
        if state.waiting.len().saturating_add(lines.len()) > MAX_WAITING {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.waiting.extend_from_slice(lines);
        drop(state);
        self.0.changed.notify_all();
    }

    /// Lines that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything is written, for `patience` at most.
    pub(super) fn flush(&self, patience: Duration) {
        let busy = |state: &mut State| state.writing || !state.waiting.is_empty();
        let _ = self.0.changed.wait_timeout_while(self.state(), patience, busy);
    }
}

/// Each call hands over one line: that is how lines are formatted.
impl Write for Pipe {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.hand_over(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc;

    use super::*;

    /// Longer than any write on a busy machine; only a failing test waits for it.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Waits for leave before each write, then hands on what was written.
    struct Gate {
        leave: mpsc::Receiver<()>,
        written: mpsc::Sender<Vec<u8>>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.leave.recv().map_err(io::Error::other)?;
            self.written.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gated() -> (Pipe, mpsc::Sender<()>, mpsc::Receiver<Vec<u8>>) {
        let (leave, left) = mpsc::channel();
        let (sender, written) = mpsc::channel();
        (Pipe::start(Gate { leave: left, written: sender }).unwrap(), leave, written)
    }

    #[test]
    fn nobody_waits_for_a_reader_and_what_is_dropped_is_counted() {
        let (pipe, leave, written) = gated();
        let line = vec![b'x'; MAX_WAITING / 4];
        // At most twice what may wait fits: once in the pipe, once with its thread.
        (0..20).for_each(|_| pipe.hand_over(&line));
        let dropped = pipe.dropped();
        assert!((12..=16).contains(&dropped), "{dropped}");
        (0..20).for_each(|_| leave.send(()).unwrap());
        pipe.flush(PATIENCE);
        let bytes: usize = written.try_iter().map(|bytes| bytes.len()).sum();
        assert_eq!(bytes, (20 - dropped as usize) * line.len());
    }

    #[test]
    fn a_flush_ends_when_everything_is_written_and_does_not_wait_for_ever() {
        let (pipe, leave, written) = gated();
        pipe.hand_over(b"one\n");
        pipe.flush(Duration::ZERO);
        assert!(written.try_recv().is_err(), "nothing may be written yet");
        leave.send(()).unwrap();
        pipe.flush(PATIENCE);
        assert_eq!(written.try_recv().unwrap(), b"one\n");
    }
}
