//! `wasi:logging/logging`: log lines of guests, capped, escaped, attributed to their slot and within a budget.

use bulkhead_telemetry::{escape_guest, guest_lines};
use wasmtime::component::HasSelf;

use super::{
    Access::Write,
    Capabilities, Capability, Interface, SlotResources,
    bindings::wasi::logging::logging::{self, Level},
    slot_log::LINE_BYTES,
};

/// Longest message, bytes. The rest is cut.
pub(super) const MESSAGE_BYTES: usize = 4096;
/// Longest error message that is kept for the operator who pushes the component, bytes.
const LAST_ERROR_BYTES: usize = 1024;
/// Longest context, bytes.
const CONTEXT_BYTES: usize = 128;

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
    add_to_linker: |instance| {
        logging::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// Returns the first `bytes` of a text, up to a character boundary.
fn cut(text: &str, bytes: usize) -> &str {
    text.split_at_checked(text.floor_char_boundary(bytes)).map_or(text, |(text, _)| text)
}

impl logging::Host for Capabilities {
    fn log(&mut self, level: Level, context: String, message: String) -> wasmtime::Result<()> {
        if matches!(level, Level::Error | Level::Critical) {
            self.last_error = Some(cut(&message, LAST_ERROR_BYTES).to_owned());
        }
        if !self.shadow.is_silent() {
            write(&self.resources, &self.version, level, &context, &message);
        }
        Ok(())
    }
}

/// Writes the lines of a guest's text to the log of its slot, cut and escaped, unless they exceed the log budget.
pub(super) fn write(resources: &SlotResources, version: &str, level: Level, context: &str, message: &str) {
    let SlotResources { slot, log, recent, metrics, .. } = resources;
    let slot = slot.as_str();
    let lines = guest_lines(cut(message, MESSAGE_BYTES), MESSAGE_BYTES);
    let context = escape_guest(context, CONTEXT_BYTES);
    let bytes = lines.iter().map(|line| line.len() + context.len() + LINE_BYTES).sum();
    if !log.take(bytes) {
        metrics.guest_log_dropped(slot, message.len());
        return;
    }
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
        recent.add(level_name(level), version, context.clone(), line);
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
