//! Writes log lines on a background thread. Callers enqueue a line and continue; a slow reader costs lines, never time.
//!
//! A lone line is written at once, many are written together: waking the thread and writing cost more than a line.

use std::{
    io::{self, Write},
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Most bytes in the queue: some ten thousand lines, a second of the busiest log. As much again may be being written.
const MAX_WAITING: usize = 4 << 20;

/// Least time between two writes; a process that is killed loses the lines of this time.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes that are written without a pause.
const BATCH: usize = 64 << 10;

/// The queue of lines and its thread. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct BackgroundWriter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<WriterState>,
    changed: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct WriterState {
    waiting: Vec<u8>,
    writing: bool,
    /// Whether a caller waits until the lines are written.
    urgent: bool,
}

impl BackgroundWriter {
    /// Starts the thread that writes to `out`.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let lines = Self::default();
        let writer = lines.clone();
        thread::Builder::new().name("log".into()).spawn(move || writer.write_to(out))?;
        Ok(lines)
    }

    fn state(&self) -> MutexGuard<'_, WriterState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut out: impl Write) {
        let (mut lines, mut pause_ends, mut is_torn) = (Vec::new(), Instant::now(), false);
        loop {
            let is_empty = |state: &mut WriterState| state.waiting.is_empty();
            let state =
                self.0.changed.wait_while(self.state(), is_empty).unwrap_or_else(PoisonError::into_inner);
            let pause = pause_ends.saturating_duration_since(Instant::now());
            let is_early = |state: &mut WriterState| !state.urgent && state.waiting.len() < BATCH;
            let (mut state, _) = self
                .0
                .changed
                .wait_timeout_while(state, pause, is_early)
                .unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut lines, &mut state.waiting);
            (state.writing, state.urgent) = (true, false);
            drop(state);
            let written = write_lines(&mut out, &lines, is_torn);
            // A failure to write can only be counted. The next line does not continue one that was cut.
            let lost = lines.get(written..).unwrap_or_default();
            let lost = lost.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.0.dropped.fetch_add(lost, Ordering::Relaxed);
            is_torn = match written.checked_sub(1) {
                Some(last) => lines.get(last) != Some(&b'\n'),
                None => is_torn,
            };
            lines.clear();
            pause_ends = Instant::now() + PAUSE;
            self.state().writing = false;
            self.0.changed.notify_all();
        }
    }

    /// Enqueues whole lines. Where the queue is full they are dropped, and counted as one.
    pub(super) fn enqueue(&self, lines: &[u8]) {
        let mut state = self.state();
        if state.waiting.len().saturating_add(lines.len()) > MAX_WAITING {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = state.waiting.len();
        state.waiting.extend_from_slice(lines);
        let is_due = before == 0 || (before < BATCH && state.waiting.len() >= BATCH);
        drop(state);
        if is_due {
            self.0.changed.notify_all();
        }
    }

    /// Returns the number of dropped lines.
    pub(super) fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything is written, for `time_limit` at most.
    pub(super) fn flush(&self, time_limit: Duration) {
        let mut state = self.state();
        state.urgent = true;
        self.0.changed.notify_all();
        let busy = |state: &mut WriterState| state.writing || !state.waiting.is_empty();
        let _ = self.0.changed.wait_timeout_while(state, time_limit, busy);
    }
}

/// Writes lines, below a line of their own where the last one `is_torn`, and returns how many of their bytes were written.
fn write_lines(out: &mut impl Write, lines: &[u8], is_torn: bool) -> usize {
    if is_torn && write_bytes(out, b"\n") == 0 {
        return 0;
    }
    let written = write_bytes(out, lines);
    // What cannot be flushed is not known.
    let _ = out.flush();
    written
}

/// Writes bytes up to the first failure, and returns how many. A pipe that does not block is tried again until its reader has
/// taken them.
fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> usize {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match out.write(rest) {
            Ok(0) => break,
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(_) => break,
        }
    }
    written
}

/// Each call enqueues one line, because lines are formatted one by one.
impl Write for BackgroundWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.enqueue(line);
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

    /// Waits for permission before each write, then reports what was written.
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

    fn gated() -> (BackgroundWriter, mpsc::Sender<()>, mpsc::Receiver<Vec<u8>>) {
        let (leave, left) = mpsc::channel();
        let (sender, written) = mpsc::channel();
        (BackgroundWriter::start(Gate { leave: left, written: sender }).unwrap(), leave, written)
    }

    #[test]
    fn slow_reader_drops_and_counts_lines() {
        let (writer, leave, written) = gated();
        let line = vec![b'x'; MAX_WAITING / 4];
        // At most twice what may wait fits: once in the writer, once with its thread.
        (0..20).for_each(|_| writer.enqueue(&line));
        let dropped = writer.dropped();
        assert!((12..=16).contains(&dropped), "{dropped}");
        (0..20).for_each(|_| leave.send(()).unwrap());
        writer.flush(PATIENCE);
        let bytes: usize = written.try_iter().map(|bytes| bytes.len()).sum();
        assert_eq!(bytes, (20 - dropped as usize) * line.len());
    }

    #[test]
    fn lines_of_a_pause_are_written_together() {
        let (writer, leave, written) = gated();
        writer.enqueue(b"one\n");
        leave.send(()).unwrap();
        writer.flush(PATIENCE);
        // The thread cannot write before it may leave, however long this takes.
        (0..100).for_each(|_| writer.enqueue(b"more\n"));
        (0..100).for_each(|_| leave.send(()).unwrap());
        writer.flush(PATIENCE);
        let writes: Vec<Vec<u8>> = written.try_iter().collect();
        assert_eq!(writes.concat(), format!("one\n{}", "more\n".repeat(100)).into_bytes());
        assert!(writes.len() <= 3, "{} writes", writes.len());
    }

    /// Takes a byte less than is given, then fails so often, then takes everything.
    struct Failing {
        failures: Vec<io::ErrorKind>,
        is_cut: bool,
        written: mpsc::Sender<Vec<u8>>,
    }

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !mem::replace(&mut self.is_cut, true) {
                let (_, taken) = bytes.split_last().unwrap();
                self.written.send(taken.to_vec()).map_err(io::Error::other)?;
                return Ok(taken.len());
            }
            match self.failures.pop() {
                Some(failure) => Err(failure.into()),
                None => {
                    self.written.send(bytes.to_vec()).map_err(io::Error::other)?;
                    Ok(bytes.len())
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Writes two lines while `failures` occur; what was written, and how many lines were lost.
    fn failing(failures: &[io::ErrorKind]) -> (String, u64) {
        let (sender, written) = mpsc::channel();
        let out = Failing { failures: failures.to_vec(), is_cut: false, written: sender };
        let writer = BackgroundWriter::start(out).unwrap();
        for line in ["one\n", "two\n"] {
            writer.enqueue(line.as_bytes());
            writer.flush(PATIENCE);
        }
        let text: Vec<u8> = written.try_iter().flatten().collect();
        (String::from_utf8(text).unwrap(), writer.dropped())
    }

    #[test]
    fn lines_of_a_full_disk_are_counted() {
        let full = io::ErrorKind::StorageFull;
        assert_eq!(failing(&[full]), ("one\ntwo\n".to_owned(), 1));
        assert_eq!(failing(&[full, full]), ("one".to_owned(), 2));
    }

    #[test]
    fn pipe_that_does_not_wait_loses_nothing() {
        let again = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock];
        assert_eq!(failing(&again), ("one\ntwo\n".to_owned(), 0));
    }

    #[test]
    fn flush_waits_for_all_lines_with_timeout() {
        let (writer, leave, written) = gated();
        writer.enqueue(b"one\n");
        writer.flush(Duration::ZERO);
        assert!(written.try_recv().is_err(), "nothing may be written yet");
        leave.send(()).unwrap();
        writer.flush(PATIENCE);
        assert_eq!(written.try_recv().unwrap(), b"one\n");
    }
}
