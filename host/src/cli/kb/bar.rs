//! An import's progress on a terminal.

use std::time::Duration;

use bulkhead_knowledge::{Progress, State};
use indicatif::{ProgressBar, ProgressStyle};

/// Shows how many passages are embedded; nothing where nobody looks.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{msg:40} {bar:30} {pos:>7} / {len} passages {eta}") {
            bar.set_style(style);
        }
        bar.set_message("reading");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Leaves the line as it is.
    pub(super) fn finish(&self) {
        self.0.finish();
    }
}

impl Progress for Bar {
    fn update(&self, state: State) {
        self.0.set_length(state.missing as u64);
        self.0.set_position(state.embedded as u64);
        self.0.set_message(format!("{} documents, {:.0} passages/s", state.documents, state.per_second));
    }
}
