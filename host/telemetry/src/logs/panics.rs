//! Logs panics, but those that a caller expects and turns into errors.

use std::{
    any::Any,
    backtrace::Backtrace,
    cell::Cell,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
};

thread_local! {
    /// Set while a panic of this thread is expected.
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` of a library that reports wrong arguments by panics only. Its panic is not logged.
///
/// # Errors
/// The text of the panic.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let was_expected = IS_EXPECTED.replace(true);
    let ended = panic::catch_unwind(AssertUnwindSafe(work));
    IS_EXPECTED.set(was_expected);
    ended.map_err(|panic| panic_text(&*panic))
}

/// Returns the text of a panic that was caught.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_owned(),
        (None, None) => "no reason is known".to_owned(),
    }
}

/// Logs a panic, unless it is expected. The standard hook writes to standard error itself, and would wait.
pub(super) fn log(panic: &PanicHookInfo<'_>) {
    if !IS_EXPECTED.get() {
        tracing::error!(backtrace = %Backtrace::capture(), "{panic}");
    }
}
