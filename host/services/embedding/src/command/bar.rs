//! Shows the progress of a model's download or conversion on a terminal.

use bulkhead_inference::progress::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows each step as a bar, or as a spinner if its size is unknown. Without a terminal it shows nothing.
#[derive(Default)]
pub(super) struct Bar(Option<ProgressBar>);

impl Progress for Bar {
    fn start(&mut self, what: &str, total_bytes: Option<u64>) {
        self.finish();
        let (bar, style) = match total_bytes {
            Some(total) => (ProgressBar::new(total), "{msg:40} {bar:30} {bytes:>10} / {total_bytes} {eta}"),
            None => (ProgressBar::new_spinner(), "{msg:40} {spinner} {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        self.0 = Some(bar);
    }

    fn advance(&mut self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.inc(bytes);
        }
    }

    fn finish(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish();
        }
    }
}
