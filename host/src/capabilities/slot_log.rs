//! The log of a slot: how much may be written to it, and its last lines.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Instant, SystemTime},
};

use serde::Serialize;

use crate::telemetry::timestamp::rfc3339_millis;

/// Lines of a slot that operators can look at without the log's files; with the longest messages, a megabyte.
const RECENT: usize = 200;

/// Bytes of log text that all calls of a slot may write: a bucket that is refilled every second.
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
