//! Background threads for operators' work, at a lower priority than calls.

use std::{io, sync::LazyLock};

use bulkhead_os::priority;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinError,
};

/// Steps of niceness above the host's own.
const NICENESS: i32 = 10;
/// Most concurrent pieces of work. More wait.
const THREADS: usize = 8;

/// A runtime of which only the threads for blocking work are used.
static POOL: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_current_thread()
        .thread_name("background")
        .max_blocking_threads(THREADS)
        .on_thread_start(yield_to_calls)
        .build()
});

/// Lowers the priority of the calling thread, and of threads that it starts, below that of calls.
pub(crate) fn yield_to_calls() {
    priority::lower(NICENESS);
}

/// Runs `work`, which may block or compute for any time.
///
/// # Errors
/// When it panics, or the host stops before it starts.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    match &*POOL {
        Ok(pool) => pool.handle().spawn_blocking(work).await,
        // Without the pool, the work runs at normal priority.
        Err(_) => tokio::task::spawn_blocking(work).await,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn work_runs_nice_and_panic_is_contained() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let mine = niceness();
        assert_eq!(run(niceness).await.unwrap(), (mine + NICENESS).min(19));
        assert!(run(|| std::hint::black_box(None::<()>).unwrap()).await.is_err());
        assert_eq!(run(|| 1).await.unwrap(), 1);
        assert_eq!(niceness(), mine);
    }
}
