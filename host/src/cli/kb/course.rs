//! An import's progress: a bar on a terminal, lines elsewhere.

use std::{
    io::{self, IsTerminal as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use bulkhead_knowledge::{ImportObserver, ImportProgress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::output;

/// Longest time between two lines while passages are embedded.
const SILENCE: Duration = Duration::from_secs(10);

/// Shows on standard error how many passages are embedded.
pub(super) enum Course {
    Bar(ProgressBar),
    Lines(Mutex<Option<Told>>),
}

/// What was told last, and when.
#[derive(Clone, Copy)]
pub(super) struct Told {
    tenths: usize,
    at: Instant,
}

impl Course {
    pub(super) fn new() -> Self {
        if !io::stderr().is_terminal() {
            output::aside("reading");
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

    /// Leaves the line as it is.
    pub(super) fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish();
        }
    }
}

impl ImportObserver for Course {
    fn notice(&self, notice: &str) {
        match self {
            Self::Bar(bar) => bar.println(notice),
            Self::Lines(_) => output::aside(notice),
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
                if let Some(told) = due(*last, state, Instant::now()) {
                    *last = Some(told);
                    output::aside(line(state));
                }
            }
        }
    }
}

/// What is told at `now` if it is time for a line: first, after each tenth, and after [`SILENCE`].
fn due(last: Option<Told>, state: ImportProgress, now: Instant) -> Option<Told> {
    let tenths = (state.embedded * 10).checked_div(state.missing).unwrap_or_default();
    let news = last.is_none_or(|last| tenths > last.tenths || now.duration_since(last.at) >= SILENCE);
    news.then_some(Told { tenths, at: now })
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
    fn a_line_is_due_first_after_each_tenth_and_after_a_silence() {
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
    fn a_line_says_how_far_it_has_come() {
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
