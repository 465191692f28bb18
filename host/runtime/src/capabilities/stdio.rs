//! `wasi:cli/stdout` and `wasi:cli/stderr`: what a guest prints goes to the log of its slot, line by line.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::cli::{stderr, stdout};
use wasmtime_wasi_io::{
    async_trait,
    bytes::Bytes,
    poll::Pollable,
    streams::{DynOutputStream, OutputStream, StreamError, StreamResult},
};

use super::{
    Capabilities, SlotResources,
    bindings::wasi::logging::logging::Level,
    logging::{self, MESSAGE_BYTES},
};

/// Most bytes of one write: as many as a line may have.
const WRITE_BYTES: usize = MESSAGE_BYTES;

/// Standard output and standard error of the guest in one store. Each exists from its first use on, and buffers one line.
#[derive(Default)]
pub(super) struct Stdio {
    out: Option<Arc<Mutex<Line>>>,
    err: Option<Arc<Mutex<Line>>>,
}

impl Stdio {
    /// Logs what an earlier call in this store has left without a line break.
    pub(super) fn begin_call(&self) {
        [&self.out, &self.err].into_iter().flatten().for_each(|line| lock(line).end());
    }
}

/// A line that has no line break yet.
struct Line {
    resources: Arc<SlotResources>,
    version: Arc<str>,
    level: Level,
    context: &'static str,
    /// At most [`MESSAGE_BYTES`].
    text: Vec<u8>,
    /// Whether nothing is logged: the store is that of a shadow call.
    is_silent: bool,
}

impl Line {
    /// Adds text and logs every line that it completes. A line that is too long is broken.
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.text.len().saturating_add(part.len()) > MESSAGE_BYTES {
                self.end();
            }
            self.text.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end();
            }
        }
    }

    /// Logs the line, unless it is empty.
    fn end(&mut self) {
        if !self.is_silent {
            let text = String::from_utf8_lossy(&self.text);
            let text = text.trim_end();
            if !text.is_empty() {
                logging::write(&self.resources, &self.version, self.level, self.context, text);
            }
        }
        self.text.clear();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle to standard output or standard error.
struct Output(Arc<Mutex<Line>>);

#[async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > WRITE_BYTES {
            return Err(StreamError::trap("the guest printed more bytes at once than check-write allows"));
        }
        lock(&self.0).write(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES)
    }
}

impl Capabilities {
    /// Returns an empty line for text of this level.
    fn line(&self, level: Level, context: &'static str) -> Arc<Mutex<Line>> {
        Arc::new(Mutex::new(Line {
            resources: Arc::clone(&self.resources),
            version: Arc::clone(&self.version),
            level,
            context,
            text: Vec::new(),
            is_silent: self.shadow.is_silent(),
        }))
    }

    fn push_output(&mut self, line: Arc<Mutex<Line>>) -> wasmtime::Result<Resource<DynOutputStream>> {
        let output: DynOutputStream = Box::new(Output(line));
        Ok(self.table.push(output)?)
    }
}

impl stdout::Host for Capabilities {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        let line = self.stdio.out.take().unwrap_or_else(|| self.line(Level::Info, "stdout"));
        self.stdio.out = Some(Arc::clone(&line));
        self.push_output(line)
    }
}

impl stderr::Host for Capabilities {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        let line = self.stdio.err.take().unwrap_or_else(|| self.line(Level::Warn, "stderr"));
        self.stdio.err = Some(Arc::clone(&line));
        self.push_output(line)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::capabilities::resources::tests::resources;

    fn line(resources: &Arc<SlotResources>) -> Line {
        Line {
            resources: Arc::clone(resources),
            version: "version".into(),
            level: Level::Info,
            context: "stdout",
            text: Vec::new(),
            is_silent: false,
        }
    }

    fn logged(resources: &SlotResources) -> Vec<String> {
        resources.recent.last(100).into_iter().map(|line| line.message).collect()
    }

    #[test]
    fn line_is_logged_once_complete() {
        let resources = Arc::new(resources());
        let mut line = line(&resources);
        line.write(b"one\r\ntw");
        assert_eq!(logged(&resources), ["one"]);
        line.write(b"o\n\n \nthr\xffee");
        assert_eq!(logged(&resources), ["one", "two"], "empty lines are left out");
        drop(line);
        assert_eq!(logged(&resources), ["one", "two", "thr\u{fffd}ee"]);
    }

    #[test]
    fn a_long_line_is_broken() {
        let resources = Arc::new(resources());
        let mut line = line(&resources);
        for _ in 0..3 {
            line.write(&[b'x'; WRITE_BYTES]);
            assert!(line.text.len() <= MESSAGE_BYTES);
        }
        line.write(b"\n");
        assert_eq!(logged(&resources), vec!["x".repeat(MESSAGE_BYTES); 3]);
    }

    #[test]
    fn a_shadow_call_logs_nothing() {
        let resources = Arc::new(resources());
        let mut silent = line(&resources);
        silent.is_silent = true;
        silent.write(b"shadow\nrest");
        drop(silent);
        assert_eq!(logged(&resources), [""; 0]);
    }

    #[test]
    fn next_call_begins_a_new_line() {
        let resources = Arc::new(resources());
        let stdio = Stdio { out: Some(Arc::new(Mutex::new(line(&resources)))), err: None };
        lock(stdio.out.as_ref().unwrap()).write(b"first");
        stdio.begin_call();
        assert_eq!(logged(&resources), ["first"]);
        lock(stdio.out.as_ref().unwrap()).write(b"second");
        drop(stdio);
        assert_eq!(logged(&resources), ["first", "second"]);
    }
}
