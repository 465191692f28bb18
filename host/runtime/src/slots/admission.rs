//! Admission of calls: a bounded number runs, a bounded number waits for a permit.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bulkhead_config::slots::Limits;
use bulkhead_telemetry::SlotMetrics;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The permits of a slot and the queue for them. The pooling allocator is sized from the sum of all slots' permits, so
/// one slot's calls never use up another's instances.
#[derive(Debug)]
pub(super) struct Admission {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue_length: usize,
    queue_wait: Duration,
}

/// A permit to run one call; released when dropped.
#[derive(Debug)]
pub struct Permit(#[allow(dead_code)] OwnedSemaphorePermit);

/// The error of a call that gets no permit: the queue is full, or the wait took too long.
#[derive(Debug, thiserror::Error)]
#[error("all permits of the slot are in use; raise max_concurrent, queue_length or queue_wait_ms")]
pub struct Overloaded {
    /// The time after which a retry makes sense.
    pub retry_after: Duration,
}

/// Counts a call as queued until it is dropped.
struct QueuedCall<'a>(&'a AtomicUsize, &'a SlotMetrics);

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
        self.1.queue_depth.dec();
    }
}

impl Admission {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            running: Arc::new(Semaphore::new(limits.max_concurrent)),
            waiting: AtomicUsize::new(0),
            queue_length: limits.queue_length,
            queue_wait: limits.queue_wait,
        }
    }

    /// Returns the number of calls that hold one of the slot's `permits`.
    pub(super) fn running(&self, permits: usize) -> usize {
        permits.saturating_sub(self.running.available_permits())
    }

    /// Waits for a permit, in the queue where none is free.
    pub(super) async fn admit(&self, metrics: &SlotMetrics) -> Result<Permit, Overloaded> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(Permit(permit));
        }
        let overloaded = || Overloaded { retry_after: self.queue_wait.max(Duration::from_secs(1)) };
        let ahead = self.waiting.fetch_add(1, Ordering::AcqRel);
        metrics.queue_depth.inc();
        let _queued = QueuedCall(&self.waiting, metrics);
        if ahead >= self.queue_length {
            return Err(overloaded());
        }
        let since = Instant::now();
        let permit = tokio::time::timeout(self.queue_wait, Arc::clone(&self.running).acquire_owned()).await;
        metrics.queue.observe(since.elapsed().as_secs_f64());
        match permit {
            Ok(Ok(permit)) => Ok(Permit(permit)),
            _ => Err(overloaded()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use bulkhead_config::slots::SlotId;
    use bulkhead_telemetry::Metrics;
    use tokio::{task::yield_now, time::timeout};

    use super::*;

    const LONG: Duration = Duration::from_secs(600);
    /// Only a failing test waits so long.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn metrics() -> SlotMetrics {
        Metrics::new(std::env::temp_dir(), []).unwrap().slot(SlotId::new("captcha"))
    }

    fn admission(max_concurrent: usize, queue_length: usize, queue_wait: Duration) -> Arc<Admission> {
        let limits = Limits { max_concurrent, queue_length, queue_wait, ..Limits::DEFAULT };
        Arc::new(Admission::new(&limits))
    }

    /// Returns a call that waits for a permit, once it is queued.
    async fn waiting(
        admission: &Arc<Admission>,
        metrics: &SlotMetrics,
    ) -> tokio::task::JoinHandle<Result<Permit, Overloaded>> {
        let (admission, shared) = (Arc::clone(admission), metrics.clone());
        let before = metrics.queue_depth.get();
        let task = tokio::spawn(async move { admission.admit(&shared).await });
        let queued = async {
            while metrics.queue_depth.get() <= before {
                yield_now().await;
            }
        };
        timeout(PATIENCE, queued).await.expect("the call waits for a permit");
        task
    }

    #[tokio::test]
    async fn dropped_permits_are_free_again() {
        let (admission, metrics) = (admission(2, 0, LONG), metrics());
        for _ in 0..3 {
            let permits =
                (admission.admit(&metrics).await.unwrap(), admission.admit(&metrics).await.unwrap());
            admission.admit(&metrics).await.unwrap_err();
            drop(permits);
        }
        assert_eq!(metrics.queue_depth.get(), 0.0);
    }

    #[tokio::test]
    async fn full_queue_refuses_at_once() {
        let (admission, metrics) = (admission(1, 1, LONG), metrics());
        let permit = admission.admit(&metrics).await.unwrap();
        let queued = waiting(&admission, &metrics).await;
        let overloaded = admission.admit(&metrics).await.unwrap_err();
        assert_eq!(overloaded.retry_after, LONG);
        drop(permit);
        let permit = queued.await.unwrap().unwrap();
        assert_eq!(metrics.queue_depth.get(), 0.0);
        drop(permit);
        admission.admit(&metrics).await.unwrap();
    }

    #[tokio::test]
    async fn wait_for_permit_times_out() {
        let (admission, metrics) = (admission(1, 1, Duration::from_millis(5)), metrics());
        let _permit = admission.admit(&metrics).await.unwrap();
        let overloaded = admission.admit(&metrics).await.unwrap_err();
        assert_eq!(overloaded.retry_after, Duration::from_secs(1));
        assert_eq!(metrics.queue_depth.get(), 0.0);
    }

    #[tokio::test]
    async fn cancelled_wait_frees_its_queue_place() {
        let (admission, metrics) = (admission(1, 2, LONG), metrics());
        let permit = admission.admit(&metrics).await.unwrap();
        let leaving = waiting(&admission, &metrics).await;
        let staying = waiting(&admission, &metrics).await;
        leaving.abort();
        leaving.await.unwrap_err();
        assert_eq!(metrics.queue_depth.get(), 1.0);
        drop(permit);
        staying.await.unwrap().unwrap();
    }
}
