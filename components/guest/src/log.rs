//! The host's log (`wasi:logging`) and the panic hook that writes to it.

use std::sync::Once;

use bindings::wasi::logging::logging::{Level, log};

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        inline: "
            package bulkhead:guest;

            world logs {
                import wasi:logging/logging@0.1.0-draft;
            }
        ",
        path: ["../../wit/deps/logging"],
        world: "bulkhead:guest/logs",
        generate_all,
    });
}

/// The host's log for one component.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    context: &'static str,
}

impl Log {
    /// Creates a log with `context`, the component's name, in every message.
    pub const fn new(context: &'static str) -> Self {
        Self { context }
    }

    /// Installs a hook that writes the text of panics to the log, because a component has no standard error. Every
    /// export calls this first; calls after the first do nothing.
    pub fn report_panics(self) {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            std::panic::set_hook(Box::new(move |info| {
                log(Level::Critical, self.context, &info.to_string());
            }));
        });
    }

    /// Logs a warning for operators.
    pub fn warn(self, message: &str) {
        log(Level::Warn, self.context, message);
    }
}
