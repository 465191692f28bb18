use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{config::slots::Limits, telemetry::SlotMetrics};

/// Places to run and places to wait. The instance pool is sized from the sum of all slots' places, so
/// one slot's calls never take another's.
#[derive(Debug)]
pub(super) struct Admission {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue_length: usize,
    queue_wait: Duration,
}

/// A call's place; given back when dropped.
#[derive(Debug)]
pub struct Place(#[allow(dead_code)] OwnedSemaphorePermit);

/// No place, and no time to wait for one.
#[derive(Debug, thiserror::Error)]
#[error("all places of the slot are taken; raise max_concurrent, queue_length or queue_wait_ms")]
pub struct Overloaded {
    /// When to ask again.
    pub retry_after: Duration,
}

/// Counts one waiting call for as long as it waits.
struct Waiting<'a>(&'a AtomicUsize, &'a SlotMetrics);

impl Drop for Waiting<'_> {
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

    /// Calls that have one of the slot's `places`.
    pub(super) fn running(&self, places: usize) -> usize {
        places.saturating_sub(self.running.available_permits())
    }

    pub(super) async fn admit(&self, metrics: &SlotMetrics) -> Result<Place, Overloaded> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(Place(permit));
        }
        let overloaded = || Overloaded { retry_after: self.queue_wait.max(Duration::from_secs(1)) };
        let ahead = self.waiting.fetch_add(1, Ordering::AcqRel);
        metrics.queue_depth.inc();
        let _waiting = Waiting(&self.waiting, metrics);
        if ahead >= self.queue_length {
            return Err(overloaded());
        }
        let since = Instant::now();
        let permit = tokio::time::timeout(self.queue_wait, Arc::clone(&self.running).acquire_owned()).await;
        metrics.queue.observe(since.elapsed().as_secs_f64());
        match permit {
            Ok(Ok(permit)) => Ok(Place(permit)),
            _ => Err(overloaded()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use tokio::{task::yield_now, time::timeout};

    use super::*;
    use crate::{config::slots::SlotId, telemetry::Metrics};

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

    /// A call that waits for a place, once it does.
    async fn waiting(
        admission: &Arc<Admission>,
        metrics: &SlotMetrics,
    ) -> tokio::task::JoinHandle<Result<Place, Overloaded>> {
        let (admission, shared) = (Arc::clone(admission), metrics.clone());
        let before = metrics.queue_depth.get();
        let task = tokio::spawn(async move { admission.admit(&shared).await });
        let queued = async {
            while metrics.queue_depth.get() <= before {
                yield_now().await;
            }
        };
        timeout(PATIENCE, queued).await.expect("the call waits for a place");
        task
    }

    #[tokio::test]
    async fn places_come_back_when_dropped() {
        let (admission, metrics) = (admission(2, 0, LONG), metrics());
        for _ in 0..3 {
            let places = (admission.admit(&metrics).await.unwrap(), admission.admit(&metrics).await.unwrap());
            admission.admit(&metrics).await.unwrap_err();
            drop(places);
        }
        assert_eq!(metrics.queue_depth.get(), 0.0);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once() {
        let (admission, metrics) = (admission(1, 1, LONG), metrics());
        let place = admission.admit(&metrics).await.unwrap();
        let queued = waiting(&admission, &metrics).await;
        let overloaded = admission.admit(&metrics).await.unwrap_err();
        assert_eq!(overloaded.retry_after, LONG);
        drop(place);
        let place = queued.await.unwrap().unwrap();
        assert_eq!(metrics.queue_depth.get(), 0.0);
        drop(place);
        admission.admit(&metrics).await.unwrap();
    }

    #[tokio::test]
    async fn a_wait_has_an_end() {
        let (admission, metrics) = (admission(1, 1, Duration::from_millis(5)), metrics());
        let _place = admission.admit(&metrics).await.unwrap();
        let overloaded = admission.admit(&metrics).await.unwrap_err();
        assert_eq!(overloaded.retry_after, Duration::from_secs(1));
        assert_eq!(metrics.queue_depth.get(), 0.0);
    }

    #[tokio::test]
    async fn a_caller_that_leaves_the_queue_gives_its_turn_away() {
        let (admission, metrics) = (admission(1, 2, LONG), metrics());
        let place = admission.admit(&metrics).await.unwrap();
        let leaving = waiting(&admission, &metrics).await;
        let staying = waiting(&admission, &metrics).await;
        leaving.abort();
        leaving.await.unwrap_err();
        assert_eq!(metrics.queue_depth.get(), 1.0);
        drop(place);
        staying.await.unwrap().unwrap();
    }
}
