//! Explains to a component's author how the sandbox ended a call.

use bulkhead_config::slots::SlotSettings as Settings;
use bulkhead_telemetry::guest_lines;

use super::{Outcome, diagnosis::Diagnosis};
use crate::capabilities::StoreData;

/// Longest text that a guest has logged last, bytes.
const LAST_ERROR_BYTES: usize = 1024;

/// Explains a call that `error` ended with `outcome`, under these `settings` and outside of a host's slot: the reason, the
/// last error that the guest logged, such as the text of a panic, and its backtrace.
pub fn explain(outcome: Outcome, error: &wasmtime::Error, guest: &StoreData, settings: &Settings) -> String {
    let diagnosis = Diagnosis::new(outcome, error, guest, settings);
    text(&diagnosis, guest.capabilities.last_error.as_deref())
}

/// Returns the lines of a diagnosis, with the guest's last error before it.
pub(super) fn text(diagnosis: &Diagnosis, last_error: Option<&str>) -> String {
    let Diagnosis { reason, frames } = diagnosis;
    let mut text = reason.clone();
    if let Some(error) = last_error {
        text.push_str("\n  the last error that it logged:");
        guest_lines(error, LAST_ERROR_BYTES).iter().for_each(|line| text.push_str(&format!("\n    {line}")));
    }
    if !frames.is_empty() {
        text.push_str("\n  its backtrace, the innermost frame first:");
        frames.iter().for_each(|frame| text.push_str(&format!("\n  {frame}")));
    }
    text
}
