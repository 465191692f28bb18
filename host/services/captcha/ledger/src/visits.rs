//! Counts visits at once and writes them in batches.
//!
//! Hosts that share a database count by it: a count is what it holds plus what waits here. A host that alone writes its
//! database counts in memory, and reads only what is not there. The flush lock keeps database and memory in step: while
//! anyone reads visits, no batch moves from here to there.

mod shared_counts;
mod window_counts;

use super::StorageError;
use super::records::{self, Visit, Visits, Window};
use super::store::Store;
use bulkhead_os::clock::HostClock;
use bulkhead_os::ids::ordered_id;
use shared_counts::{CountKey, SharedCounts};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, RwLock};
use window_counts::{ClientKey, WindowCounts};

/// Visits are written this often; with the write itself, what a power cut may lose stays under a second.
pub(super) const FLUSH_EVERY: Duration = Duration::from_millis(500);

/// Visits that one transaction writes: more change the pages of an index together, and spends wait for longer.
const BATCH: usize = 2000;

/// Visits that may wait while the database is down.
const MAX_WAITING: usize = 100_000;

/// Visits that are loaded at the start at most; of more, those of each client are read when it comes.
const MOST_LOADED: usize = 100_000;

/// A site's visits are counted in this many buckets a window, of a second to a minute each.
const BUCKETS: i64 = 60;

pub(super) struct Recorder {
    window: Window,
    clock: HostClock,
    /// Whether visits are counted in memory while the database does not answer.
    lenient: bool,
    flush_lock: RwLock<()>,
    /// Locked before `waiting`.
    counts: Counting,
    waiting: Mutex<VecDeque<Arc<Visit>>>,
    full: Notify,
    /// Why the last batch could not be written.
    fault: Mutex<Option<StorageError>>,
}

/// How visits are counted.
enum Counting {
    /// By the database, where other hosts write, too.
    Shared(Mutex<SharedCounts>),
    /// In memory.
    Own(Mutex<WindowCounts>),
}

/// A visit that is to be counted.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'a> {
    pub(super) site: &'a str,
    /// The client's keys, the one under which the visit is stored first.
    pub(super) client: &'a [String],
    pub(super) allow_listed: bool,
}

impl Arrival<'_> {
    fn keys(&self) -> Vec<ClientKey> {
        self.client.iter().filter_map(|key| ClientKey::parse(key)).collect()
    }
}

impl Recorder {
    /// Starts without visits; `shared` says whether other hosts write to the database.
    pub(super) fn new(window: Duration, clock: HostClock, lenient: bool, shared: bool) -> Self {
        let length = records::millis(window).max(1);
        let window = Window { length, bucket: (length / BUCKETS).clamp(1000, 60_000) };
        let counts = if shared {
            Counting::Shared(Mutex::default())
        } else {
            Counting::Own(Mutex::new(WindowCounts::new(window, clock.millis())))
        };
        Self {
            window,
            clock,
            lenient,
            flush_lock: RwLock::new(()),
            counts,
            waiting: Mutex::default(),
            full: Notify::new(),
            fault: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Visit>>> {
        locked(&self.waiting)
    }

    /// Counts the visits before this one and records it, if that needs no database.
    pub(super) fn record_at_once(&self, arrival: Arrival<'_>) -> Option<Result<Visits, StorageError>> {
        let Counting::Own(counts) = &self.counts else { return None };
        self.record_known(&mut locked(counts), arrival, &arrival.keys()).ok()
    }

    /// Counts the visits before this one, and records it.
    pub(super) async fn record(&self, store: &Store, arrival: Arrival<'_>) -> Result<Visits, StorageError> {
        match &self.counts {
            Counting::Shared(counts) => self.record_shared(store, counts, arrival).await,
            Counting::Own(counts) => self.record_own(store, counts, arrival).await,
        }
    }

    async fn record_shared(
        &self,
        store: &Store,
        counts: &Mutex<SharedCounts>,
        arrival: Arrival<'_>,
    ) -> Result<Visits, StorageError> {
        let Arrival { site, client, .. } = arrival;
        let count_key = CountKey { site: site.to_owned(), client: client.to_vec() };
        let _open = self.flush_lock.read().await;
        let at = self.clock.millis();
        let known = locked(counts).known(&count_key);
        let written = match known {
            Some(written) => written,
            None => match store.visits(site, client, at, self.window).await {
                Err(StorageError::Unavailable(_)) if self.lenient => Visits::default(),
                written => written?,
            },
        };
        let mut counts = locked(counts);
        let mut waiting = self.waiting();
        let counted = counts.count(&count_key, written);
        if waiting.len() >= MAX_WAITING {
            return self.without_room(counted);
        }
        if known.is_none() {
            counts.remember(count_key, written);
        }
        let visit = self.visit(arrival, at);
        counts.add(&visit);
        self.push(&mut waiting, visit);
        Ok(counted)
    }

    async fn record_own(
        &self,
        store: &Store,
        counts: &Mutex<WindowCounts>,
        arrival: Arrival<'_>,
    ) -> Result<Visits, StorageError> {
        let keys = arrival.keys();
        let _open = self.flush_lock.read().await;
        loop {
            let asked_at = match self.record_known(&mut locked(counts), arrival, &keys) {
                Ok(counted) => return counted,
                Err(now) => now,
            };
            let rows = match store.visit_rows(arrival.site, arrival.client, asked_at, self.window).await {
                Err(StorageError::Unavailable(_)) if self.lenient => None,
                rows => Some(rows?),
            };
            let mut counts = locked(counts);
            let now = self.clock.millis();
            counts.follow(now);
            if let Some(rows) = rows {
                // Other rows count where the time of day went back meanwhile.
                if now < asked_at {
                    continue;
                }
                counts.learn(arrival.site, &keys, rows, &self.waiting());
            }
            return self.admit(&mut counts, arrival, &keys, now);
        }
    }

    /// Counts and records a visit, unless visits of the site or the client may be missing in memory: then returns the
    /// time.
    fn record_known(
        &self,
        counts: &mut WindowCounts,
        arrival: Arrival<'_>,
        keys: &[ClientKey],
    ) -> Result<Result<Visits, StorageError>, i64> {
        // Read while the counts are locked, so that it goes back only where the time of day does.
        let now = self.clock.millis();
        counts.follow(now);
        if counts.knows(arrival.site, keys, now) {
            Ok(self.admit(counts, arrival, keys, now))
        } else {
            Err(now)
        }
    }

    fn admit(
        &self,
        counts: &mut WindowCounts,
        arrival: Arrival<'_>,
        keys: &[ClientKey],
        now: i64,
    ) -> Result<Visits, StorageError> {
        let mut waiting = self.waiting();
        let counted = counts.count(arrival.site, keys, now, &waiting);
        if waiting.len() >= MAX_WAITING {
            return self.without_room(counted);
        }
        let visit = self.visit(arrival, now);
        counts.add(&visit, now);
        self.push(&mut waiting, visit);
        Ok(counted)
    }

    /// Returns the answer for a visit that cannot wait to be written, because too many do.
    fn without_room(&self, counted: Visits) -> Result<Visits, StorageError> {
        if self.lenient {
            Ok(counted)
        } else {
            Err(StorageError::Unavailable("too many visits wait to be written".into()))
        }
    }

    fn push(&self, waiting: &mut VecDeque<Arc<Visit>>, visit: Visit) {
        waiting.push_back(Arc::new(visit));
        if waiting.len() >= BATCH {
            self.full.notify_one();
        }
    }

    fn visit(&self, arrival: Arrival<'_>, at: i64) -> Visit {
        Visit {
            id: ordered_id(),
            site: arrival.site.to_owned(),
            client: arrival.client.first().cloned().unwrap_or_default(),
            allow_listed: arrival.allow_listed,
            at,
            since: Instant::now(),
            expires_at: at + self.window.length,
            bucket: (at / self.window.bucket + 1) * self.window.bucket + self.window.length,
        }
    }

    /// Reads the visits of all clients into memory, where visits are counted there.
    pub(super) async fn load(&self, store: &Store) -> Result<(), StorageError> {
        let Counting::Own(counts) = &self.counts else { return Ok(()) };
        let _open = self.flush_lock.read().await;
        let asked_at = self.clock.millis();
        let rows = store.all_visit_rows(asked_at, self.window, MOST_LOADED + 1).await?;
        if rows.clients.len() > MOST_LOADED {
            return Ok(());
        }
        let mut counts = locked(counts);
        let now = self.clock.millis();
        counts.follow(now);
        if now >= asked_at {
            counts.learn_all(rows, &self.waiting());
        }
        Ok(())
    }

    /// Returns once a batch is full.
    pub(super) async fn full(&self) {
        self.full.notified().await;
    }

    /// Fails while the last batch could not be written.
    pub(super) fn check(&self) -> Result<(), StorageError> {
        locked(&self.fault).clone().map_or(Ok(()), Err)
    }

    /// Writes all waiting visits; those that could not be written stay.
    pub(super) async fn flush(&self, store: &Store) -> Result<(), StorageError> {
        if let Counting::Own(counts) = &self.counts {
            // Freed when the lock is open again.
            let dropped = locked(counts).take_dropped();
            drop(dropped);
        }
        let flushed = self.write(store).await;
        *locked(&self.fault) = flushed.clone().err();
        flushed
    }

    async fn write(&self, store: &Store) -> Result<(), StorageError> {
        while !self.waiting().is_empty() {
            // Checked before the flush lock is taken: a database that is down must not hold up those who count.
            store.ping().await?;
            let _closed = self.flush_lock.write().await;
            let batch: Vec<_> = self.waiting().iter().take(BATCH).cloned().collect();
            store.write(&batch, self.window).await?;
            if let Counting::Shared(counts) = &self.counts {
                locked(counts).written(&batch);
            }
            let mut waiting = self.waiting();
            let written = batch.len().min(waiting.len());
            waiting.drain(..written);
        }
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
