//! The log of a slot: its budget and its last lines.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Instant, SystemTime},
};

use bulkhead_telemetry::timestamp::rfc3339_millis;
use serde::Serialize;

/// Lines of a slot that operators can read without the log files; a megabyte with the longest messages.
const RECENT_LINES: usize = 200;

/// Cost of a line in addition to its text, bytes: what a log format puts around it.
pub(super) const LINE_BYTES: usize = 192;

/// A budget of log text for all calls of a slot, in bytes a second.
#[derive(Debug)]
pub struct LogBudget {
    bytes_per_second: usize,
    second: Mutex<(Instant, usize)>,
}

impl LogBudget {
    /// Returns a budget of `bytes_per_second`.
    pub fn new(bytes_per_second: u32) -> Self {
        Self { bytes_per_second: bytes_per_second as usize, second: Mutex::new((Instant::now(), 0)) }
    }

    /// Takes a line with so many bytes of text from the budget of this second and returns true, or returns false where
    /// fewer are left.
    pub fn take_line(&self, text: usize) -> bool {
        self.take(text.saturating_add(LINE_BYTES))
    }

    /// Takes `bytes`, those around each line included.
    pub(super) fn take(&self, bytes: usize) -> bool {
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

/// A line of a slot's log, from a guest or from the host about a failed call. Its texts are escaped.
#[derive(Clone, Debug, Serialize)]
pub struct LogLine {
    /// The time of the line, RFC 3339.
    pub at: String,
    /// `trace` to `critical`.
    pub level: &'static str,
    /// The version's id.
    pub version: String,
    /// The context that the guest named.
    pub context: String,
    /// The text.
    pub message: String,
}

/// The last lines of a slot's log.
#[derive(Debug, Default)]
pub struct RecentLines(Mutex<VecDeque<LogLine>>);

impl RecentLines {
    /// Adds a line whose texts are escaped.
    pub fn add(&self, level: &'static str, version: &str, context: String, message: String) {
        let at = rfc3339_millis(SystemTime::now());
        let line = LogLine { at, level, version: version.to_owned(), context, message };
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == RECENT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Returns the last `limit` lines, the oldest first.
    pub fn last(&self, limit: usize) -> Vec<LogLine> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().skip(lines.len().saturating_sub(limit)).cloned().collect()
    }
}
