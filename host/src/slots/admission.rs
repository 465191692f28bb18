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
