//! Counts visits at once and writes them in batches.
//!
//! A count is what the database holds plus what waits here. The flush lock keeps the two in step: while anyone counts,
//! no batch moves from here to there.

use super::StorageError;
use super::records::{self, COUNT_CEILING, Visit, Visits, Window};
use super::store::Store;
use bulkhead_os::clock::HostClock;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, RwLock};
use uuid::Uuid;

/// Visits are written this often; with the write itself, what a power cut may lose stays under a second.
pub(super) const FLUSH_EVERY: Duration = Duration::from_millis(500);

/// Visits that one transaction writes.
const BATCH: usize = 1000;

/// Visits that may wait while the database is down.
const MAX_WAITING: usize = 100_000;

/// A client with as many visits is looked up in the database once a [`RECOUNT`] only; in between its own visits here
/// are added.
const BUSY: u64 = 256;

/// How old a busy client's count may be.
const RECOUNT: Duration = Duration::from_secs(1);

/// A site's visits are counted in this many buckets a window, of a second to a minute each.
const BUCKETS: i64 = 60;

pub(super) struct Recorder {
    window: Window,
    clock: HostClock,
    /// Whether visits are counted in memory while the database does not answer.
    lenient: bool,
    flush_lock: RwLock<()>,
    waiting: Mutex<Waiting>,
    full: Notify,
    /// Why the last batch could not be written.
    fault: Mutex<Option<StorageError>>,
}

#[derive(Default)]
struct Waiting {
    visits: VecDeque<Arc<Visit>>,
    clients: HashMap<String, u64>,
    sites: HashMap<String, u64>,
    busy: HashMap<CountKey, Count>,
}

/// The site and client of a count.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CountKey {
    site: String,
    client: Vec<String>,
}

struct Count {
    written: Visits,
    at: Instant,
}

impl Recorder {
    pub(super) fn new(window: Duration, clock: HostClock, lenient: bool) -> Self {
        let length = records::millis(window).max(1);
        Self {
            window: Window { length, bucket: (length / BUCKETS).clamp(1000, 60_000) },
            clock,
            lenient,
            flush_lock: RwLock::new(()),
            waiting: Mutex::default(),
            full: Notify::new(),
            fault: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the visits before this one, and records it.
    pub(super) async fn record(
        &self,
        store: &Store,
        site: &str,
        client: Vec<String>,
        allow_listed: bool,
    ) -> Result<Visits, StorageError> {
        let count_key = CountKey { site: site.to_owned(), client };
        let _open = self.flush_lock.read().await;
        let at = self.clock.millis();
        let known = self.waiting().known(&count_key);
        let written = match known {
            Some(written) => written,
            None => match store.visits(&count_key.site, &count_key.client, at, self.window).await {
                Err(StorageError::Unavailable(_)) if self.lenient => Visits::default(),
                written => written?,
            },
        };
        let mut waiting = self.waiting();
        if waiting.visits.len() >= MAX_WAITING {
            if self.lenient {
                return Ok(waiting.count(&count_key, written));
            }
            return Err(StorageError::Unavailable("too many visits wait to be written".into()));
        }
        let visit = self.visit(&count_key, allow_listed, at);
        let counted = waiting.count(&count_key, written);
        if known.is_none() && written.client >= BUSY {
            waiting.busy.insert(count_key, Count { written, at: Instant::now() });
        }
        waiting.push(visit);
        if waiting.visits.len() >= BATCH {
            self.full.notify_one();
        }
        Ok(counted)
    }

    fn visit(&self, count_key: &CountKey, allow_listed: bool, at: i64) -> Visit {
        Visit {
            id: Uuid::new_v4(),
            site: count_key.site.clone(),
            client: count_key.client.first().cloned().unwrap_or_default(),
            allow_listed,
            at,
            since: Instant::now(),
            expires_at: at + self.window.length,
            bucket: (at / self.window.bucket + 1) * self.window.bucket + self.window.length,
        }
    }

    /// Returns once a batch is full.
    pub(super) async fn full(&self) {
        self.full.notified().await;
    }

    /// Fails while the last batch could not be written.
    pub(super) fn check(&self) -> Result<(), StorageError> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    /// Writes all waiting visits; those that could not be written stay.
    pub(super) async fn flush(&self, store: &Store) -> Result<(), StorageError> {
        let flushed = self.write(store).await;
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = flushed.clone().err();
        flushed
    }

    async fn write(&self, store: &Store) -> Result<(), StorageError> {
        while !self.waiting().visits.is_empty() {
            // Checked before the flush lock is taken: a database that is down must not hold up those who count.
            store.ping().await?;
            let _closed = self.flush_lock.write().await;
            let batch: Vec<_> = self.waiting().visits.iter().take(BATCH).cloned().collect();
            store.write(&batch, self.window).await?;
            self.waiting().written(&batch);
        }
        Ok(())
    }
}

impl Waiting {
    fn known(&self, count_key: &CountKey) -> Option<Visits> {
        self.busy.get(count_key).filter(|count| count.at.elapsed() < RECOUNT).map(|count| count.written)
    }

    fn count(&self, count_key: &CountKey, written: Visits) -> Visits {
        let here: u64 = count_key.client.iter().filter_map(|key| self.clients.get(key)).sum();
        Visits {
            client: (written.client + here).min(COUNT_CEILING),
            site: written.site + self.sites.get(&count_key.site).copied().unwrap_or_default(),
        }
    }

    fn push(&mut self, visit: Visit) {
        *self.clients.entry(visit.client.clone()).or_default() += 1;
        *self.sites.entry(visit.site.clone()).or_default() += 1;
        self.visits.push_back(Arc::new(visit));
    }

    /// Moves the foremost visits from here to the busy clients' counts.
    fn written(&mut self, batch: &[Arc<Visit>]) {
        self.busy.retain(|_, count| count.at.elapsed() < RECOUNT);
        self.visits.drain(..batch.len().min(self.visits.len()));
        let (mut clients, mut sites) = (HashMap::new(), HashMap::new());
        for visit in batch {
            *clients.entry(visit.client.as_str()).or_default() += 1;
            *sites.entry(visit.site.as_str()).or_default() += 1;
        }
        for (count_key, count) in &mut self.busy {
            count.written.client +=
                count_key.client.iter().filter_map(|key| clients.get(key.as_str())).sum::<u64>();
            count.written.site += sites.get(count_key.site.as_str()).copied().unwrap_or_default();
        }
        take(&mut self.clients, clients);
        take(&mut self.sites, sites);
    }
}

/// Subtracts `taken` from the counts, and removes keys at zero.
fn take(counts: &mut HashMap<String, u64>, taken: HashMap<&str, u64>) {
    for (key, taken) in taken {
        if let Some(count) = counts.get_mut(key) {
            *count = count.saturating_sub(taken);
            if *count == 0 {
                counts.remove(key);
            }
        }
    }
}
