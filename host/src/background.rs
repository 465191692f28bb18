//! Operators' work beside calls: on a few threads of a lower priority, so that calls go first.

use std::{io, sync::LazyLock};

use tokio::{
    runtime::{Builder, Runtime},
    task::JoinError,
};

/// Steps below the host's own priority.
const NICENESS: i32 = 10;
/// The lowest priority that there is.
const LOWEST: i32 = 19;
/// Works at once; more wait.
const THREADS: usize = 8;

/// Only its threads for blocking work are used.
static POOL: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_current_thread()
        .thread_name("background")
        .max_blocking_threads(THREADS)
        .on_thread_start(yield_to_calls)
        .build()
});

/// Lowers the priority of the calling thread, and of those that it starts, so that calls go first.
pub fn yield_to_calls() {
    // On Linux this is the calling thread's own priority. One that cannot be lowered is no reason to stop.
    let present = rustix::process::getpriority_process(None).unwrap_or(0);
    let _ = rustix::process::setpriority_process(None, (present + NICENESS).min(LOWEST));
}

/// Runs `work`, which may block and calculate as long as it likes.
///
/// # Errors
/// When it panics, or the host stops before it is begun.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    match &*POOL {
        Ok(pool) => pool.handle().spawn_blocking(work).await,
        // No second kind of threads: slower for others is better than not at all.
        Err(_) => tokio::task::spawn_blocking(work).await,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn work_yields_to_calls_and_a_panic_ends_only_itself() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let mine = niceness();
        assert_eq!(run(niceness).await.unwrap(), (mine + NICENESS).min(LOWEST));
        assert!(run(|| std::hint::black_box(None::<()>).unwrap()).await.is_err());
        assert_eq!(run(|| 1).await.unwrap(), 1);
        assert_eq!(niceness(), mine);
    }
}
