//! `wasi:logging/logging`: guest text is data: capped, escaped, attributed, within a budget.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Instant, SystemTime},
};

use serde::Serialize;
use wasmtime::component::HasSelf;

use super::{
    Access::Write,
    Capabilities, Capability, Interface, SlotResources,
    bindings::wasi::logging::logging::{self, Level},
};
use crate::telemetry::{escape_guest, guest_lines, timestamp::rfc3339_millis};

/// Longest message, bytes; the rest is cut.
const MESSAGE_BYTES: usize = 4096;
/// Longest message that is kept for who pushes the component, bytes.
const LAST_WORDS_BYTES: usize = 1024;
/// Longest context, bytes.
const CONTEXT_BYTES: usize = 128;
/// What one line costs beside its text, bytes: empty lines are not free.
const LINE_BYTES: usize = 64;

/// Lines of a slot that operators can look at without the log's files; with the longest messages, a megabyte.
const RECENT: usize = 200;

/// `wasi:logging`.
#[derive(Clone, Copy, Debug)]
pub struct LoggingCapability;

impl Capability for LoggingCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[LOGGING]
    }
}

/// Log lines.
const LOGGING: Interface = Interface {
    name: "wasi:logging/logging",
    version: "0.1.0-draft",
    is_general: true,
    functions: &[("log", Write)],
    add_to_linker: |linker| {
        logging::add_to_linker::<_, HasSelf<Capabilities>>(linker, |guest| &mut guest.capabilities)
    },
};

/// Bytes of log text that all calls of a slot may write: a bucket that fills every second anew.
#[derive(Debug)]
pub struct LogBudget {
    bytes_per_second: usize,
    second: Mutex<(Instant, usize)>,
}

impl LogBudget {
    /// A budget of `bytes_per_second`.
    pub fn new(bytes_per_second: u32) -> Self {
        Self { bytes_per_second: bytes_per_second as usize, second: Mutex::new((Instant::now(), 0)) }
    }

    /// Takes `bytes` from this second, if they are left.
    pub fn take(&self, bytes: usize) -> bool {
        let mut second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        if second.0.elapsed().as_secs() >= 1 {
            *second = (Instant::now(), 0);
        }
        let used = second.1.saturating_add(bytes);
        let within = used <= self.bytes_per_second;
        if within {
            second.1 = used;
        }
        within
    }
}

/// A line that a slot's log has: a guest's, or the host's on a call that failed. Escaped.
#[derive(Clone, Debug, Serialize)]
pub struct LogLine {
    /// When, RFC 3339.
    pub at: String,
    /// `trace` to `critical`.
    pub level: &'static str,
    /// The version's id.
    pub version: String,
    /// Where in the guest, by its own word.
    pub context: String,
    /// The text.
    pub message: String,
}

/// The last lines of a slot's log.
#[derive(Debug, Default)]
pub struct Recent(Mutex<VecDeque<LogLine>>);

impl Recent {
    /// Adds a line whose texts are escaped.
    pub fn add(&self, level: &'static str, version: &str, context: String, message: String) {
        let at = rfc3339_millis(SystemTime::now());
        let line = LogLine { at, level, version: version.to_owned(), context, message };
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == RECENT {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// The last `limit` lines, the oldest first.
    pub fn last(&self, limit: usize) -> Vec<LogLine> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().skip(lines.len().saturating_sub(limit)).cloned().collect()
    }
}

/// The first `bytes` of a text, up to a character.
fn cut(text: &str, bytes: usize) -> &str {
    text.split_at_checked(text.floor_char_boundary(bytes)).map_or(text, |(text, _)| text)
}

impl logging::Host for Capabilities {
    fn log(&mut self, level: Level, context: String, message: String) -> wasmtime::Result<()> {
        if matches!(level, Level::Error | Level::Critical) {
            self.last_words = Some(cut(&message, LAST_WORDS_BYTES).to_owned());
        }
        if self.mirror.is_shadow() {
            return Ok(());
        }
        let SlotResources { slot, log, metrics, .. } = &*self.resources;
        let slot = slot.as_str();
        let lines = guest_lines(cut(&message, MESSAGE_BYTES), MESSAGE_BYTES);
        let context = escape_guest(&context, CONTEXT_BYTES);
        let bytes = lines.iter().map(|line| line.len() + context.len() + LINE_BYTES).sum();
        if !log.take(bytes) {
            metrics.guest_log_dropped(slot, message.len());
            return Ok(());
        }
        let version = &*self.version;
        macro_rules! line {
            ($level:ident, $line:ident) => {
                tracing::$level!(target: "guest", slot, version, context, "{}", $line)
            };
        }
        for line in lines {
            metrics.guest_log_line(slot, level_name(level));
            match level {
                Level::Trace => line!(trace, line),
                Level::Debug => line!(debug, line),
                Level::Info => line!(info, line),
                Level::Warn => line!(warn, line),
                Level::Error | Level::Critical => line!(error, line),
            }
            self.resources.recent.add(level_name(level), version, context.clone(), line);
        }
        Ok(())
    }
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
        Level::Critical => "critical",
    }
}
