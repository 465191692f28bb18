//! Runs background tasks: loading and writing visits, sweeping, counting rows. Each ends when it is stopped, or when
//! the ledger is dropped.

use super::StorageError;
use super::memory_fallback::MemoryFallback;
use super::records::{self, Rows};
use super::store::Store;
use super::visits::{FLUSH_EVERY, Recorder};
use bulkhead_os::clock::HostClock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

/// Expired rows are swept about this often; more often finds little, more seldom lets tables grow.
const SWEEP_EVERY: Duration = Duration::from_secs(600);

/// Rows are counted at most this often: a count reads whole tables.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// The running tasks.
pub(super) struct Tasks {
    stop: watch::Sender<()>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Tasks {
    pub(super) fn start(
        store: &Arc<Store>,
        visits: &Arc<Recorder>,
        counts: &Arc<Counts>,
        memory_fallback: Option<&Arc<MemoryFallback>>,
        clock: &HostClock,
    ) -> Self {
        let (stop, stopped) = watch::channel(());
        let running = vec![
            tokio::spawn(flush(store.clone(), visits.clone(), stopped.clone())),
            tokio::spawn(load(store.clone(), visits.clone(), stopped.clone())),
            tokio::spawn(sweep(store.clone(), memory_fallback.cloned(), clock.clone(), stopped.clone())),
            tokio::spawn(count(store.clone(), counts.clone(), clock.clone(), stopped)),
        ];
        Self { stop, running: Mutex::new(running) }
    }

    /// Stops the tasks and waits until they have ended.
    pub(super) async fn stop(&self) {
        self.stop.send_replace(());
        let running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        for task in running {
            if let Err(error) = task.await {
                tracing::error!(%error, "a task of the ledger failed");
            }
        }
    }
}

async fn flush(store: Arc<Store>, visits: Arc<Recorder>, mut stopped: watch::Receiver<()>) {
    let mut failing = false;
    loop {
        let last = tokio::select! {
            _ = stopped.changed() => true,
            () = visits.full() => false,
            () = tokio::time::sleep(FLUSH_EVERY) => false,
        };
        let flushed = visits.flush(&store).await;
        match &flushed {
            Ok(()) if failing => tracing::info!("visits are written again"),
            Err(error) if !failing => {
                tracing::warn!(%error, "visits cannot be written; they wait in memory")
            }
            Ok(()) | Err(_) => {}
        }
        failing = flushed.is_err();
        if last {
            return;
        }
    }
}

async fn load(store: Arc<Store>, visits: Arc<Recorder>, mut stopped: watch::Receiver<()>) {
    tokio::select! {
        _ = stopped.changed() => {}
        loaded = visits.load(&store) => if let Err(error) = loaded {
            tracing::warn!(%error, "visits cannot be loaded; those of each client are read when it comes");
        },
    }
}

async fn sweep(
    store: Arc<Store>,
    memory_fallback: Option<Arc<MemoryFallback>>,
    clock: HostClock,
    mut stopped: watch::Receiver<()>,
) {
    loop {
        let now = clock.millis();
        if let Some(memory_fallback) = &memory_fallback {
            memory_fallback.sweep(now);
        }
        tokio::select! {
            _ = stopped.changed() => return,
            swept = store.sweep(now) => report(swept),
        }
        tokio::select! {
            _ = stopped.changed() => return,
            () = tokio::time::sleep(jittered(SWEEP_EVERY)) => {}
        }
    }
}

fn report(swept: Result<Option<records::Swept>, StorageError>) {
    match swept {
        Ok(Some(swept)) if swept != records::Swept::default() => tracing::info!(
            captcha_request = swept.captcha_request,
            invalidated_payload = swept.invalidated_payload,
            failures = swept.failures,
            site_visits = swept.site_visits,
            "expired rows deleted"
        ),
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(%error, "expired rows cannot be deleted; the next sweep tries again")
        }
    }
}

/// Returns a time between nine and eleven tenths of `period`, so that hosts that started together drift apart.
fn jittered(period: Duration) -> Duration {
    let draw = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
    period.mul_f64(0.9 + 0.2 * draw)
}

async fn count(store: Arc<Store>, counts: Arc<Counts>, clock: HostClock, mut stopped: watch::Receiver<()>) {
    loop {
        tokio::select! {
            _ = stopped.changed() => return,
            () = counts.asked.notified() => {}
        }
        tokio::select! {
            _ = stopped.changed() => return,
            rows = store.rows(clock.millis()) => match rows {
                Ok(rows) => counts.set(rows),
                Err(error) => tracing::debug!(%error, "rows cannot be counted"),
            },
        }
        tokio::select! {
            _ = stopped.changed() => return,
            () = tokio::time::sleep(COUNT_EVERY) => {}
        }
    }
}

/// The last count of rows, and what this host wrote since.
pub(super) struct Counts {
    requests: AtomicU64,
    payloads: AtomicU64,
    asked: Notify,
}

impl Counts {
    /// Makes counts of zero, and requests a first count at once.
    pub(super) fn new() -> Self {
        let asked = Notify::new();
        asked.notify_one();
        Self { requests: AtomicU64::new(0), payloads: AtomicU64::new(0), asked }
    }

    /// Returns the known figures, and requests new ones.
    pub(super) fn rows(&self) -> Rows {
        self.asked.notify_one();
        Rows {
            captcha_request: self.requests.load(Relaxed),
            invalidated_payload: self.payloads.load(Relaxed),
        }
    }

    pub(super) fn visited(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    pub(super) fn claimed(&self, spends: u64) {
        self.payloads.fetch_add(spends, Relaxed);
    }

    fn set(&self, rows: Rows) {
        self.requests.store(rows.captcha_request, Relaxed);
        self.payloads.store(rows.invalidated_payload, Relaxed);
    }
}
