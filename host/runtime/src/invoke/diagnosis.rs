//! The diagnosis of a call that the sandbox ended, for the component's author.

use std::fmt::{self, Display, Write as _};

use bulkhead_config::slots::SlotSettings as Settings;
use bulkhead_telemetry::escape_guest;
use wasmtime::WasmBacktrace;

use super::{EndedCall, Outcome, outcome::is_handle_limit};
use crate::{capabilities::StoreData, sandbox::RefusedGrowth};

/// Longest reason, bytes.
const REASON_BYTES: usize = 1000;
/// Longest backtrace, bytes: names in it are the guest's, and may have any length.
const BACKTRACE_BYTES: usize = 8192;
/// Longest line of a backtrace, bytes.
const FRAME_BYTES: usize = 300;
/// Most lines of a backtrace. wasmtime keeps 20 frames; a frame with debug information has a second line.
const FRAME_LINES: usize = 40;
/// The first line of wasmtime's text of a backtrace.
const BACKTRACE: &str = "error while executing at wasm backtrace:";

/// The diagnosis of a call that was ended: a reason of one line, and the guest's frames, the innermost first. Both are
/// escaped; frames of the host are never included.
#[derive(Debug)]
pub(super) struct Diagnosis {
    pub(super) reason: String,
    pub(super) frames: Vec<String>,
}

impl Diagnosis {
    /// Diagnoses a call that `error` ended. Only a trap has frames, because any client's input can exceed a limit.
    pub(super) fn new(
        outcome: Outcome,
        error: &wasmtime::Error,
        guest: &StoreData,
        settings: &Settings,
    ) -> Self {
        let reason = limit(outcome, error, guest, settings).unwrap_or_else(|| trap(error));
        let frames = match outcome {
            Outcome::Trap => frames(error),
            _ => Vec::new(),
        };
        Self { reason: escape_guest(&reason, REASON_BYTES), frames }
    }

    /// Returns the bytes of all lines.
    pub(super) fn bytes(&self) -> usize {
        self.frames.iter().map(String::len).sum::<usize>() + self.reason.len()
    }
}

/// Returns the reason where a limit was exceeded, with the key that raises it.
fn limit(
    outcome: Outcome,
    error: &wasmtime::Error,
    guest: &StoreData,
    settings: &Settings,
) -> Option<String> {
    let limits = &settings.limits;
    let raise = |what: String, key: &str| format!("{what}; raise {}", settings.key(key));
    if let Some(EndedCall { reason, key, .. }) = error.downcast_ref::<EndedCall>() {
        return Some(key.map_or_else(|| reason.clone(), |key| raise(reason.clone(), key)));
    }
    let reason = match (outcome, guest.limiter.refusal()) {
        (Outcome::CpuBudget, _) => raise(error.root_cause().to_string(), "cpu_ms"),
        (Outcome::MemoryLimit, Some(RefusedGrowth::TableElements)) => {
            let elements = limits.table_elements;
            raise(format!("it asked for more than {elements} table elements"), "table_elements")
        }
        (Outcome::MemoryLimit, Some(RefusedGrowth::Memory)) => {
            raise(format!("it asked for more than {} bytes of memory", limits.memory_bytes), "memory_bytes")
        }
        (Outcome::MemoryLimit, None) if is_handle_limit(error) => {
            "it asked for more handles than it may hold; raise sandbox.handles".to_owned()
        }
        (Outcome::MemoryLimit, None) => raise(error.root_cause().to_string(), "memory_bytes"),
        (Outcome::ResponseTooLarge, _) => {
            raise(format!("it handed over more than {} bytes", limits.response_bytes), "response_bytes")
        }
        (Outcome::Deadline, _) => {
            raise(format!("it took longer than {} ms", limits.deadline.as_millis()), "deadline_ms")
        }
        (Outcome::Overloaded, _) => error.root_cause().to_string(),
        _ => return None,
    };
    Some(reason)
}

/// Returns the causes from the outermost to the innermost, without the backtrace.
fn trap(error: &wasmtime::Error) -> String {
    let causes = error.chain().map(|cause| capped(&cause, REASON_BYTES));
    causes.filter(|cause| !cause.starts_with(BACKTRACE)).collect::<Vec<_>>().join(": ")
}

/// Returns the lines of the guest's backtrace.
fn frames(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    let text = capped(backtrace, BACKTRACE_BYTES);
    let lines = text.lines().skip(1).filter(|line| !line.starts_with("note: "));
    lines.take(FRAME_LINES).map(|line| escape_guest(line.trim_end(), FRAME_BYTES)).collect()
}

/// Returns the first `cap` bytes of a text, without writing the rest.
fn capped(value: &impl Display, cap: usize) -> String {
    struct Capped {
        text: String,
        cap: usize,
    }
    impl fmt::Write for Capped {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let room = self.cap.saturating_sub(self.text.len());
            let (fits, rest) = text.split_at_checked(text.floor_char_boundary(room)).unwrap_or((text, ""));
            self.text.push_str(fits);
            if rest.is_empty() { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut capped = Capped { text: String::new(), cap };
    // The error means that the cap is reached.
    let _ = write!(capped, "{value}");
    capped.text
}

#[cfg(all(test, feature = "compiler"))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use wasmtime::{Engine, Instance, Module, Store};

    use super::*;

    /// Returns a module of two functions: `run`, which is called `outer`, calls a function named `inner`, which traps.
    fn module(inner: &str) -> Vec<u8> {
        fn sized(bytes: &[u8]) -> Vec<u8> {
            let (mut size, mut sized) = (bytes.len(), Vec::new());
            while size > 0x7f {
                sized.push((size & 0x7f) as u8 | 0x80);
                size >>= 7;
            }
            [sized, vec![size as u8], bytes.to_vec()].concat()
        }
        let section = |id: u8, content: &[u8]| [vec![id], sized(content)].concat();
        let functions = [b"\x02\0".to_vec(), sized(inner.as_bytes()), b"\x01\x05outer".to_vec()].concat();
        let names = [sized(b"name"), section(0, b"\x05guest"), section(1, &functions)].concat();
        let code = [vec![2], sized(b"\0\0\x0b"), sized(b"\0\x10\0\x0b")].concat();
        [
            b"\0asm\x01\0\0\0".to_vec(),
            section(1, b"\x01\x60\0\0"),
            section(3, b"\x02\0\0"),
            section(7, b"\x01\x03run\0\x01"),
            section(10, &code),
            section(0, &names),
        ]
        .concat()
    }

    fn trapped(inner: &str) -> wasmtime::Error {
        let engine = Engine::default();
        let module = Module::new(&engine, module(inner)).unwrap();
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).unwrap();
        instance.get_typed_func::<(), ()>(&mut store, "run").unwrap().call(&mut store, ()).unwrap_err()
    }

    #[test]
    fn trap_has_reason_and_guest_frames() {
        let error = trapped("inner");
        assert_eq!(trap(&error), "wasm trap: wasm `unreachable` instruction executed");
        let frames = frames(&error);
        assert_eq!(frames.len(), 2, "{frames:?}");
        assert!(frames[0].contains("guest!inner") && frames[1].contains("guest!outer"), "{frames:?}");
    }

    #[test]
    fn trap_reason_includes_error_contexts() {
        let error = trapped("inner").context("while it began");
        assert_eq!(trap(&error), "while it began: wasm trap: wasm `unreachable` instruction executed");
        assert_eq!(frames(&error).len(), 2);
        assert_eq!(frames(&wasmtime::Error::msg("no frames")), [""; 0]);
    }

    #[test]
    fn long_frame_name_is_cut() {
        let frames = frames(&trapped(&"n".repeat(100_000)));
        assert!(!frames.is_empty() && frames.iter().all(|line| line.len() <= FRAME_BYTES));
        assert_eq!(capped(&"äöü", 3), "ä");
    }
}
