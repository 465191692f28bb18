//! Shows an import's progress: a bar on a terminal, lines elsewhere.

use std::{
    io::{self, IsTerminal as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use bulkhead_cli::output;
use bulkhead_knowledge::{ImportObserver, ImportProgress};
use indicatif::{ProgressBar, ProgressStyle};

/// Longest time between two lines while passages are embedded.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Shows on standard error how many passages are embedded.
pub(super) enum ProgressDisplay {
    Bar(ProgressBar),
    Lines(Mutex<Option<LastLine>>),
}

/// The line that was printed last: how many tenths were embedded, and when.
#[derive(Clone, Copy)]
pub(super) struct LastLine {
    tenths: usize,
    at: Instant,
}

impl ProgressDisplay {
    pub(super) fn new() -> Self {
        if !io::stderr().is_terminal() {
            output::stderr_line("reading");
            return Self::Lines(Mutex::new(None));
        }
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{msg:40} {bar:30} {pos:>7} / {len} passages {eta}") {
            bar.set_style(style);
        }
        bar.set_message("reading");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::Bar(bar)
    }

    /// Ends the bar and leaves it on the terminal.
    pub(super) fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish();
        }
    }
}

impl ImportObserver for ProgressDisplay {
    fn notice(&self, notice: &str) {
        match self {
            Self::Bar(bar) => bar.println(notice),
            Self::Lines(_) => output::stderr_line(notice),
        }
    }

    fn update(&self, state: ImportProgress) {
        match self {
            Self::Bar(bar) => {
                bar.set_length(state.missing as u64);
                bar.set_position(state.embedded as u64);
                bar.set_message(format!("{} documents, {:.0} passages/s", state.documents, state.per_second));
            }
            Self::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(printed) = due(*last, state, Instant::now()) {
                    *last = Some(printed);
                    output::stderr_line(line(state));
                }
            }
        }
    }
}

/// Returns the record of a line that is due at `now`: the first, one after each tenth, and one after [`LINE_INTERVAL`].
fn due(last: Option<LastLine>, state: ImportProgress, now: Instant) -> Option<LastLine> {
    let tenths = (state.embedded * 10).checked_div(state.missing).unwrap_or_default();
    let is_due = last.is_none_or(|last| tenths > last.tenths || now.duration_since(last.at) >= LINE_INTERVAL);
    is_due.then_some(LastLine { tenths, at: now })
}

fn line(state: ImportProgress) -> String {
    let ImportProgress { documents, missing, embedded, per_second, .. } = state;
    let percent = (embedded * 100).checked_div(missing).unwrap_or(100);
    format!(
        "{documents} documents, {embedded} of {missing} passages embedded ({percent} %), {per_second:.0} passages/s"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_due_at_tenths_and_intervals() {
        let start = Instant::now();
        let state =
            |embedded| ImportProgress { documents: 7, missing: 1000, embedded, ..ImportProgress::default() };
        let at = |seconds| start + Duration::from_secs(seconds);
        let first = due(None, state(0), at(0));
        assert!(first.is_some());
        assert!(due(first, state(99), at(9)).is_none());
        assert!(due(first, state(99), at(10)).is_some());
        let tenth = due(first, state(100), at(1));
        assert!(tenth.is_some());
        assert!(due(tenth, state(199), at(2)).is_none());
        assert!(due(tenth, state(1000), at(2)).is_some());
        assert!(due(None, ImportProgress::default(), at(0)).is_some());
    }

    #[test]
    fn line_has_counts_and_speed() {
        let state = ImportProgress {
            documents: 7,
            missing: 200,
            embedded: 50,
            per_second: 12.4,
            ..ImportProgress::default()
        };
        assert_eq!(line(state), "7 documents, 50 of 200 passages embedded (25 %), 12 passages/s");
        assert!(line(ImportProgress::default()).contains("0 of 0 passages embedded (100 %)"));
    }
}
