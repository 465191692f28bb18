//! Log lines on standard error, and guests' text in them. Whoever logs does not wait for the reader.

mod guest;
mod json;
mod pipe;

use std::{
    backtrace::Backtrace,
    io::{self, IsTerminal},
    panic,
    sync::OnceLock,
    time::Duration,
};

use bulkhead_config::server::{Log, LogFormat};
use pipe::Pipe;
use tracing::{Level, Subscriber, subscriber::SetGlobalDefaultError};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt::{self, MakeWriter, format::JsonFields},
    layer::{Filter, SubscriberExt as _},
    registry::Registry,
    reload,
};

pub use guest::{escape_guest, guest_lines, one_line, quoted, shortened};

/// The end waits this long for a reader of the last lines; longer, and it would look hung.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Where this process's log lines go, once they do.
static PIPE: OnceLock<Pipe> = OnceLock::new();

/// What this process's log lines are picked by, once there are any.
static PICKED: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Why log lines cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// They are already.
    #[error("log lines are written already")]
    Twice(#[from] SetGlobalDefaultError),
    /// No thread for them.
    #[error("cannot start the thread that writes log lines: {0}")]
    Thread(#[from] io::Error),
}

/// Writes this process's log lines to standard error from now on, panics among them. Fails when called twice.
pub fn init(log: Log) -> Result<(), InitError> {
    let pipe = Pipe::start(io::stderr())?;
    let writer = pipe.clone();
    let (picked, handle) = reload::Layer::new(levels(log.level));
    tracing::subscriber::set_global_default(subscriber(
        log.format,
        picked,
        move || writer.clone(),
        io::stderr().is_terminal(),
    ))?;
    let _ = (PIPE.set(pipe), PICKED.set(handle));
    // The standard hook writes to standard error itself, and would wait.
    panic::set_hook(Box::new(|panic| tracing::error!(backtrace = %Backtrace::capture(), "{panic}")));
    Ok(())
}

/// Writes lines from `level` up from now on; where none are written it is nobody's business.
pub fn set_level(level: Level) {
    if let Some(picked) = PICKED.get() {
        // Fails only where the subscriber is gone, which lasts as long as the process.
        let _ = picked.reload(levels(level));
    }
}

/// Log lines that were dropped because nobody read them fast enough.
pub fn dropped() -> u64 {
    PIPE.get().map_or(0, Pipe::dropped)
}

/// The process's last words on standard error, one or more whole lines; everything logged before is written first. Waits
/// for a slow reader for a second at most.
pub fn end(last_words: &str) {
    match PIPE.get() {
        Some(pipe) => {
            pipe.hand_over(last_words.as_bytes());
            pipe.flush(LAST_LINES);
        }
        // A closed standard error leaves nobody to tell.
        None => drop(io::Write::write_all(&mut io::stderr(), last_words.as_bytes())),
    }
}

/// What writes the `picked` log lines to `writer`, with colours for a terminal.
fn subscriber<W>(
    format: LogFormat,
    picked: impl Filter<Registry> + Send + Sync + 'static,
    writer: W,
    terminal: bool,
) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Human => Box::new(fmt::layer().with_ansi(terminal).with_writer(writer)),
        LogFormat::Json => Box::new(
            fmt::layer()
                .fmt_fields(JsonFields::new())
                .event_format(json::Lines)
                .with_ansi(false)
                .with_writer(writer),
        ),
    };
    Registry::default().with(lines.with_filter(picked))
}

/// Targets of our own lines, guests' among them.
const OURS: [&str; 2] = ["bulkhead", "guest"];

/// Our own lines from `level` up. Those of libraries from `WARN` up, for below that they tell of their
/// own workings; `TRACE` asks for everything.
fn levels(level: Level) -> Targets {
    let libraries = if level == Level::TRACE { level } else { level.min(Level::WARN) };
    Targets::new()
        .with_default(LevelFilter::from_level(libraries))
        .with_targets(OURS.map(|target| (target, LevelFilter::from_level(level))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

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
    fn json_lines_carry_the_fields_of_their_spans() {
        let text = written(LogFormat::Json, Level::INFO, || {
            let span = tracing::info_span!(target: "bulkhead", "request", request_id = "r-1", slot = "none");
            let _entered = span.enter();
            tracing::warn!(target: "bulkhead::x", slot = "first", calls = 3, done = true, "two\n\u{1b}lines");
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
    fn human_lines_carry_span_and_message() {
        let text = written(LogFormat::Human, Level::INFO, || {
            let span = tracing::info_span!(target: "bulkhead", "request", request_id = "r-1");
            span.in_scope(|| tracing::info!(target: "bulkhead", "ready"));
        });
        assert!(text.contains("r-1") && text.contains("ready"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn libraries_are_quieter_than_the_host() {
        let speak = || {
            tracing::info!(target: "bulkhead_http", "ours");
            tracing::info!(target: "hyper::proto", "theirs");
        };
        let text = written(LogFormat::Human, Level::INFO, speak);
        assert!(text.contains("ours") && !text.contains("theirs"));
        assert_eq!(written(LogFormat::Human, Level::ERROR, speak), "");
        assert!(written(LogFormat::Human, Level::TRACE, speak).contains("theirs"));
    }

    #[test]
    fn the_level_can_change_while_lines_are_written() {
        let sink = Sink::default();
        let writer = sink.clone();
        let (picked, handle) = reload::Layer::new(levels(Level::WARN));
        let lines = subscriber(LogFormat::Human, picked, move || writer.clone(), false);
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
