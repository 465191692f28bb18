//! Writes log lines to standard error, and escapes guests' text in them. Logging never waits for the reader.

mod background_writer;
mod guest;
mod human;
mod json;
mod panics;
mod target;

use std::{
    io::{self, IsTerminal},
    panic,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use background_writer::BackgroundWriter;
use bulkhead_config::server::{AccessLog, Log, LogFormat};
use tracing::{Level, Subscriber, subscriber::SetGlobalDefaultError};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt::{self, MakeWriter},
    layer::{Filter, SubscriberExt as _},
    registry::Registry,
    reload,
};

pub use guest::{escape_guest, guest_lines, one_line, quoted, shortened};
pub use panics::{catch_panic, panic_text};

/// How long the end of the process waits for a reader of the last lines; longer would look hung.
const FINAL_FLUSH: Duration = Duration::from_secs(1);

/// The writer of this process's log lines, once logging has started.
static WRITER: OnceLock<BackgroundWriter> = OnceLock::new();

/// The filter of this process's log lines, once logging has started.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// An answer that takes as long has a line in any case.
const SLOW: Duration = Duration::from_secs(1);

/// Whether good answers have a line.
static LOGS_ANSWERS: AtomicBool = AtomicBool::new(true);

/// Whether errors have one.
static LOGS_ERRORS: AtomicBool = AtomicBool::new(true);

/// Why log lines cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// Logging has started already.
    #[error("log lines are written already")]
    Twice(#[from] SetGlobalDefaultError),
    /// The thread that writes them cannot start.
    #[error("cannot start the thread that writes log lines: {0}")]
    Thread(#[from] io::Error),
}

/// Starts writing this process's log lines, panics included, to standard error. Fails when called twice.
pub fn init(log: Log) -> Result<(), InitError> {
    let lines = BackgroundWriter::start(io::stderr())?;
    let writer = lines.clone();
    set_access(log.access);
    let (filter, handle) = reload::Layer::new(levels(log.level));
    tracing::subscriber::set_global_default(subscriber(
        log.format,
        filter,
        move || writer.clone(),
        io::stderr().is_terminal(),
    ))?;
    let _ = (WRITER.set(lines), FILTER.set(handle));
    panic::set_hook(Box::new(panics::log));
    Ok(())
}

/// Changes the lowest level that is logged; does nothing before logging has started.
pub fn set_level(level: Level) {
    if let Some(filter) = FILTER.get() {
        // Fails only where the subscriber is gone, which lasts as long as the process.
        let _ = filter.reload(levels(level));
    }
}

/// Changes which answers have a line.
pub fn set_access(access: AccessLog) {
    LOGS_ANSWERS.store(access == AccessLog::All, Relaxed);
    LOGS_ERRORS.store(access != AccessLog::Off, Relaxed);
}

/// Returns whether an answer that took this long has a line.
pub fn logs_access(is_error: bool, elapsed: Duration) -> bool {
    let logs = if is_error { &LOGS_ERRORS } else { &LOGS_ANSWERS };
    elapsed >= SLOW || logs.load(Relaxed)
}

/// Returns the number of log lines that were dropped because their reader was too slow or they could not be written.
pub fn dropped() -> u64 {
    WRITER.get().map_or(0, BackgroundWriter::dropped)
}

/// Writes the process's last lines to standard error, after everything logged before. Waits for a slow reader for a
/// second at most.
pub fn write_last(last_lines: &str) {
    match WRITER.get() {
        Some(writer) => {
            writer.enqueue(last_lines.as_bytes());
            writer.flush(FINAL_FLUSH);
        }
        // A closed standard error cannot be reported.
        None => drop(io::Write::write_all(&mut io::stderr(), last_lines.as_bytes())),
    }
}

/// Returns the subscriber that writes the lines that pass `filter` to `writer`, with colours for a terminal.
fn subscriber<W>(
    format: LogFormat,
    filter: impl Filter<Registry> + Send + Sync + 'static,
    writer: W,
    terminal: bool,
) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Human => {
            Box::new(fmt::layer().event_format(human::HumanLines).with_ansi(terminal).with_writer(writer))
        }
        LogFormat::Json => Box::new(
            fmt::layer()
                .fmt_fields(json::SpanFields)
                .event_format(json::Lines)
                .with_ansi(false)
                .with_writer(writer),
        ),
    };
    Registry::default().with(lines.with_filter(filter))
}

/// Targets of our own lines, guests' among them.
const OURS: [&str; 2] = ["bulkhead", "guest"];

/// A library that warns of what guests do, without a bound. The host logs the same for the slot, within its budget.
const OF_GUESTS: &str = "wasmtime_wasi_http";

/// Returns a filter for our own lines from `level` up and those of libraries from `WARN` up, since lower ones are about
/// their internals. `TRACE` lets everything pass.
fn levels(level: Level) -> Targets {
    let (libraries, of_guests) = match level {
        Level::TRACE => (level, LevelFilter::TRACE),
        _ => (level.min(Level::WARN), LevelFilter::OFF),
    };
    Targets::new()
        .with_target(OF_GUESTS, of_guests)
        .with_default(LevelFilter::from_level(libraries))
        .with_targets(OURS.map(|target| (target, LevelFilter::from_level(level))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(format: LogFormat, level: Level, act: impl FnOnce()) -> String {
        let sink = Sink::default();
        let writer = sink.clone();
        let lines = subscriber(format, levels(level), move || writer.clone(), false);
        tracing::subscriber::with_default(lines, act);
        String::from_utf8(sink.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn json_lines_carry_span_fields() {
        let text = written(LogFormat::Json, Level::INFO, || {
            let span = tracing::info_span!(target: "bulkhead", "request", request_id = "r-1", slot = "none");
            let _entered = span.enter();
            tracing::warn!(target: "bulkhead_x::y", slot = "first", calls = 3, done = true, "two\n\u{1b}lines");
        });
        assert_eq!(text.lines().count(), 1);
        let mut line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(line["timestamp"].take().as_str().unwrap().ends_with('Z'));
        let expected = serde_json::json!({
            "timestamp": null, "level": "WARN", "target": "bulkhead::x", "message": "two\n\u{1b}lines",
            "request_id": "r-1", "slot": "first", "calls": 3, "done": true,
        });
        assert_eq!(line, expected);
    }

    #[test]
    fn json_fields_are_escaped_and_hide_others() {
        let text = written(LogFormat::Json, Level::INFO, || {
            let late = tracing::field::Empty;
            let outer = tracing::info_span!(target: "bulkhead", "request", id = "a\"b\\\n", n = 1, late);
            outer.record("late", "first").record("late", "second");
            let inner =
                outer.in_scope(|| tracing::info_span!(target: "bulkhead", "call", n = 2, level = "x"));
            inner.in_scope(|| {
                let (nan, half, kind) = (f64::NAN, 0.5, Some("\u{7f}"));
                tracing::info!(target: "bulkhead", nan, half, minus = -3, ?kind, "\u{1}\t\r\u{8}\"ä\"");
            });
        });
        let mut line: serde_json::Value = serde_json::from_str(&text).unwrap();
        line["timestamp"].take();
        let expected = serde_json::json!({
            "timestamp": null, "level": "INFO", "target": "bulkhead::host", "message": "\u{1}\t\r\u{8}\"ä\"",
            "nan": null, "half": 0.5, "minus": -3, "kind": "Some(\"\\u{7f}\")",
            "n": 2, "id": "a\"b\\\n", "late": "second",
        });
        assert_eq!(line, expected);
        for name in ["n", "late", "level"] {
            assert_eq!(text.matches(&format!("\"{name}\":")).count(), 1, "{text}");
        }
    }

    #[test]
    fn human_lines_carry_span_and_message() {
        let text = written(LogFormat::Human, Level::INFO, || {
            let span = tracing::info_span!(target: "bulkhead", "request", request_id = "r-1");
            span.in_scope(|| tracing::info!(target: "bulkhead_rollout::deploy", calls = 3, "ready"));
        });
        let after_time = text.split_once("Z  INFO ").map(|(_, rest)| rest);
        assert_eq!(
            after_time,
            Some("request{request_id=\"r-1\"}: bulkhead::rollout: ready calls=3\n"),
            "{text}"
        );
    }

    #[test]
    fn terminal_gets_colours() {
        let sink = Sink::default();
        let writer = sink.clone();
        let lines = subscriber(LogFormat::Human, levels(Level::INFO), move || writer.clone(), true);
        tracing::subscriber::with_default(lines, || tracing::warn!(target: "bulkhead", "slow"));
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("\u{1b}[33m WARN\u{1b}[0m \u{1b}[2mbulkhead::host\u{1b}[0m"), "{text:?}");
    }

    #[test]
    fn libraries_are_quieter_than_the_host() {
        let speak = || {
            tracing::info!(target: "bulkhead_http", "ours");
            tracing::info!(target: "hyper::proto", "theirs");
            tracing::warn!(target: "wasmtime_wasi_http::p2::error", "a guest's");
        };
        let text = written(LogFormat::Human, Level::INFO, speak);
        assert!(text.contains("ours") && !text.contains("theirs") && !text.contains("a guest's"));
        assert_eq!(written(LogFormat::Human, Level::ERROR, speak), "");
        assert!(written(LogFormat::Human, Level::TRACE, speak).contains("theirs"));
    }

    fn fail(text: &str) {
        panic!("{text}");
    }

    #[test]
    fn expected_panic_is_not_logged() {
        panic::set_hook(Box::new(panics::log));
        let mut caught = Ok(());
        let text = written(LogFormat::Human, Level::INFO, || {
            caught = catch_panic(|| fail("a conflict"));
            let _ = panic::catch_unwind(|| fail("a fault"));
        });
        drop(panic::take_hook());
        assert_eq!(caught, Err("a conflict".to_owned()));
        assert!(text.contains("a fault") && !text.contains("a conflict"), "{text}");
        assert_eq!(catch_panic(|| 7), Ok(7));
    }

    #[test]
    fn slow_answers_always_have_a_line() {
        let quick = SLOW - Duration::from_millis(1);
        for (access, answers, errors) in
            [(AccessLog::Off, false, false), (AccessLog::Errors, false, true), (AccessLog::All, true, true)]
        {
            set_access(access);
            assert_eq!(
                (logs_access(false, quick), logs_access(true, quick)),
                (answers, errors),
                "{access:?}"
            );
            assert!(logs_access(false, SLOW) && logs_access(true, SLOW));
        }
    }

    #[test]
    fn level_can_change_while_logging() {
        let sink = Sink::default();
        let writer = sink.clone();
        let (filter, handle) = reload::Layer::new(levels(Level::WARN));
        let lines = subscriber(LogFormat::Human, filter, move || writer.clone(), false);
        tracing::subscriber::with_default(lines, || {
            for (number, level) in [Level::WARN, Level::INFO, Level::ERROR].into_iter().enumerate() {
                handle.reload(levels(level)).unwrap();
                tracing::info!(target: "bulkhead", "line {number}");
            }
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("line 1") && text.lines().count() == 1, "{text}");
    }
}
