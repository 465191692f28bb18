//! Implements the public interface of the ledger.

use super::StorageError;
use super::deadline;
use super::load::{Load, Loads, Solve};
use super::memory::Memory;
use super::memory_fallback::MemoryFallback;
use super::options::{Backend, LedgerOptions};
use super::outage_log::OutageLog;
use super::pool::PoolStats;
use super::postgres::Postgres;
use super::records::{self, Claim, Id, MAX_LIMIT, Rows, SKEW, Swept, Visits};
use super::sqlite::Sqlite;
use super::store::Store;
use super::tasks::{Counts, Tasks};
use super::visits::{Arrival, Recorder};
use bulkhead_os::clock::HostClock;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

/// Clocks of host and database that differ by more than this, in milliseconds, are reported.
const MOST_SKEW: i64 = 5_000;

/// The visits of clients and the spent challenges. Clones share them.
///
/// All errors are [`StorageError`]: `Unavailable` when the database does not answer in time or the ledger is
/// closed, `Invalid` when an argument is out of range.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    store: Arc<Store>,
    visits: Arc<Recorder>,
    counts: Arc<Counts>,
    loads: Loads,
    /// None where calls are refused while the database does not answer.
    memory_fallback: Option<Arc<MemoryFallback>>,
    clock: HostClock,
    answer_timeout: Duration,
    outage_log: Arc<OutageLog>,
    tasks: Tasks,
    closed: AtomicBool,
    /// The runtime that drives the connections; callers on another runtime must not open connections there.
    runtime: Handle,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

impl Ledger {
    /// Opens the ledger, creates tables that are missing, and starts its tasks on the current tokio runtime.
    ///
    /// # Errors
    /// `Unavailable` when the database cannot be reached or its tables have other columns; `Invalid` when the URL
    /// does not parse.
    pub async fn open(backend: Backend, options: LedgerOptions) -> Result<Self, StorageError> {
        let outage_log = Arc::default();
        let store = match backend {
            Backend::Sqlite(path) => Store::Sqlite(Sqlite::open(&path, &options).await?),
            Backend::Postgres(url) => Store::Postgres(Postgres::open(&url, &options, &outage_log).await?),
            Backend::Memory => Store::Memory(Memory::default()),
        };
        Ok(Self::over(store, options, outage_log))
    }

    /// Opens the ledger as [`Ledger::open`] does, but waits for a PostgreSQL server that cannot be reached, and for a disk
    /// that takes nothing: until then every call returns `Unavailable`.
    ///
    /// # Errors
    /// See [`Ledger::open`].
    pub async fn open_when_reached(backend: Backend, options: LedgerOptions) -> Result<Self, StorageError> {
        let outage_log = Arc::default();
        let store = match backend {
            Backend::Sqlite(path) => Store::Sqlite(Sqlite::open_when_writable(&path, &options).await?),
            Backend::Postgres(url) => {
                Store::Postgres(Postgres::open_when_reached(&url, &options, &outage_log).await?)
            }
            Backend::Memory => Store::Memory(Memory::default()),
        };
        Ok(Self::over(store, options, outage_log))
    }

    /// Returns why the disk of the ledger takes nothing, if it does not: it is read-only or full.
    #[must_use]
    pub fn disk_fault(&self) -> Option<&'static str> {
        self.0.store.disk_fault()
    }

    /// Returns whether the database has been reached since the start.
    #[must_use]
    pub fn has_been_reached(&self) -> bool {
        self.0.store.has_been_reached()
    }

    fn over(store: Store, options: LedgerOptions, outage_log: Arc<OutageLog>) -> Self {
        let LedgerOptions { window, lenient, clock, answer_timeout, .. } = options;
        let store = Arc::new(store);
        let visits = Arc::new(Recorder::new(window, clock.clone(), lenient, store.is_shared()));
        let counts = Arc::new(Counts::new());
        let memory_fallback = lenient.then(Arc::<MemoryFallback>::default);
        let tasks = Tasks::start(&store, &visits, &counts, memory_fallback.as_ref(), &clock);
        let (loads, closed, runtime) = (Loads::default(), AtomicBool::new(false), Handle::current());
        Self(Arc::new(Inner {
            store,
            visits,
            counts,
            loads,
            memory_fallback,
            clock,
            answer_timeout,
            outage_log,
            tasks,
            closed,
            runtime,
        }))
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &HostClock {
        &self.0.clock
    }

    /// Returns whether calls are answered from memory while the database does not answer.
    #[must_use]
    pub fn is_lenient(&self) -> bool {
        self.0.memory_fallback.is_some()
    }

    /// Returns the number of spends that were granted without the database, since the start.
    #[must_use]
    pub fn granted_without_database(&self) -> u64 {
        self.0.memory_fallback.as_ref().map_or(0, |memory_fallback| memory_fallback.granted())
    }

    /// Returns the fault of the host's clock, if there is one.
    #[must_use]
    pub fn clock_fault(&self) -> Option<String> {
        let skew = self.0.store.skew();
        if skew.abs() > MOST_SKEW {
            let (seconds, side) = (skew.abs() / 1000, if skew > 0 { "ahead of" } else { "behind" });
            return Some(format!(
                "the host's clock is {seconds} s {side} the database's; set both by the same time server (NTP)"
            ));
        }
        let mark = self.0.store.high_water()?.mark();
        let behind = mark.saturating_sub(self.0.clock.millis());
        (behind > records::millis(SKEW)).then(|| {
            format!(
                "the host's clock went back to {} s before the last sweep of the ledger, or rows of the ledger were lost; \
                 of the challenges issued before, those that may have been spent are refused",
                behind / 1000
            )
        })
    }

    fn store(&self) -> Result<&Store, StorageError> {
        if self.0.closed.load(Ordering::Acquire) {
            return Err(StorageError::closed());
        }
        Ok(&self.0.store)
    }

    /// Counts the visits before this one, then records this one: under the first of the client's keys (64 lower-case
    /// hex digits each, one to eight), counted under all of them. It counts for as long as the window.
    pub async fn record_visit(
        &self,
        site: &str,
        client: &[String],
        allow_listed: bool,
    ) -> Result<Visits, StorageError> {
        let store = self.store()?;
        let site = records::site_key(site)?;
        let client = records::client_keys(client)?;
        let arrival = Arrival { site, client: &client, allow_listed };
        let counted = match self.0.visits.record_at_once(arrival) {
            Some(counted) => counted,
            None => {
                // This waits for a batch that is being written, and then for the database. Each wait has its own timeout,
                // and the recorder decides about the result.
                let limit = self.0.answer_timeout.saturating_mul(2);
                deadline::within(limit, self.0.visits.record(store, arrival)).await
            }
        };
        self.0.outage_log.log_failure(&counted);
        let counted = counted?;
        self.0.counts.visited();
        Ok(counted)
    }

    /// Returns how often the challenge `id` (64 lower-case hex digits) has been spent.
    pub async fn spent(&self, id: &str) -> Result<u32, StorageError> {
        let (store, id, now) = (self.store()?, Id::parse(id)?, self.0.clock.millis());
        let spent = match &self.0.memory_fallback {
            Some(memory_fallback) => memory_fallback.spent(store, &id, now).await,
            None => store.spent(&id, now).await,
        };
        self.0.outage_log.log_failure(&spent);
        spent
    }

    /// Spends the challenge `id` (64 lower-case hex digits) once, or as often as is left of `limit` when `all`, in one
    /// atomic and durable step. Returns whether at least one was left.
    ///
    /// It is remembered until `expires_at` (Unix seconds) and [`SKEW`](super::SKEW); a challenge past that is never
    /// granted. After `Unavailable` the spend may or may not have been counted, but it was not granted.
    pub async fn claim(
        &self,
        id: &str,
        expires_at: u64,
        limit: u32,
        all: bool,
    ) -> Result<bool, StorageError> {
        let store = self.store()?;
        if limit > MAX_LIMIT {
            return Err(StorageError::Invalid(format!(
                "limit: at most {MAX_LIMIT} spends of one challenge are counted"
            )));
        }
        let claim = Claim {
            id: Id::parse(id)?,
            expires_at: records::row_expiry(expires_at),
            now: self.0.clock.millis(),
            limit,
            spends: if all { limit } else { 1 },
            issued_here: store.high_water().is_some_and(|high_water| high_water.has_issued(id)),
        };
        if limit == 0 {
            return Ok(false);
        }
        let spent = match &self.0.memory_fallback {
            Some(memory_fallback) => memory_fallback.claim(store, claim).await,
            None => store.claim(claim).await,
        };
        self.0.outage_log.log_failure(&spent);
        let spent = spent?;
        self.0.counts.claimed(spent);
        Ok(spent > 0)
    }

    /// Remembers that the challenge was just issued, where the time of day has gone back to before the last sweep: any
    /// other challenge of that time may have been spent, and is not granted. `id` gives its id.
    pub fn remember_issued(&self, expires_at: u64, id: impl FnOnce() -> Option<String>) {
        if let Some(high_water) = self.0.store.high_water() {
            high_water.remember(records::row_expiry(expires_at), id);
        }
    }

    /// Counts one failed attempt at the challenge `id` (64 lower-case hex digits) and returns how many there have been;
    /// it is remembered as long as a claim.
    pub async fn record_failure(&self, id: &str, expires_at: u64) -> Result<u32, StorageError> {
        let (store, id, expires_at) = (self.store()?, Id::parse(id)?, records::row_expiry(expires_at));
        let failures = match &self.0.memory_fallback {
            Some(memory_fallback) => memory_fallback.fail(store, &id, expires_at).await,
            None => store.fail(&id, expires_at).await,
        };
        self.0.outage_log.log_failure(&failures);
        failures
    }

    /// Returns figures of `site` over the recent past, in this process.
    #[must_use]
    pub fn load(&self, site: &str) -> Load {
        self.0.loads.load(site, self.0.clock.instant())
    }

    /// Records that a challenge was issued at `site`.
    pub fn record_issued(&self, site: &str) {
        self.0.loads.issued(site, self.0.clock.instant());
    }

    /// Records that a solution of `client` was judged at `site`; if it was good, `solve` says how long the client worked,
    /// if that is known.
    pub fn record_verified(&self, site: &str, client: IpAddr, ok: bool, solve: Option<Solve>) {
        self.0.loads.verified(site, client, ok, solve, self.0.clock.instant());
    }

    /// Deletes expired rows now; none while another host does so, or when the host's clock and the database's differ by
    /// more than a minute. The ledger sweeps at the start and about every ten minutes.
    pub async fn sweep(&self) -> Result<Option<Swept>, StorageError> {
        self.store()?.sweep(self.0.clock.millis()).await
    }

    /// Returns the number of rows that have not expired, without a query: the last count, at most about ten seconds
    /// older than the last call, plus what this host wrote since.
    #[must_use]
    pub fn rows(&self) -> Rows {
        self.0.counts.rows()
    }

    /// Returns whether the database answers in time. May be called from any runtime.
    pub async fn ping(&self) -> Result<(), StorageError> {
        self.store()?;
        let store = self.0.store.clone();
        self.on_runtime(async move { store.ping().await }).await
    }

    /// Returns whether the database accepts writes in time, including visits that wait. Writes a row of its own. May be
    /// called from any runtime.
    pub async fn probe(&self) -> Result<(), StorageError> {
        self.store()?;
        self.0.visits.check()?;
        let store = self.0.store.clone();
        let (id, expires_at) = records::probe(self.0.clock.millis());
        self.on_runtime(async move { store.fail(&id, expires_at).await.map(drop) }).await
    }

    /// Writes the waiting visits.
    #[cfg(test)]
    pub(super) async fn flush_visits(&self) {
        self.0.visits.flush(&self.0.store).await.ok();
    }

    /// Runs a query on the ledger's runtime.
    async fn on_runtime(
        &self,
        ask: impl Future<Output = Result<(), StorageError>> + Send + 'static,
    ) -> Result<(), StorageError> {
        let answer = self.0.runtime.spawn(ask);
        deadline::in_time(async { answer.await.map_err(|_| StorageError::closed())? }).await
    }

    /// Returns the figures of the connection pool (on SQLite that of the readers).
    #[must_use]
    pub fn pool_stats(&self) -> PoolStats {
        self.0.store.pool_stats()
    }

    /// Refuses further calls, writes the waiting visits, and closes the database.
    ///
    /// # Errors
    /// `Unavailable` when visits could not be written; they are lost.
    pub async fn close(&self) -> Result<(), StorageError> {
        if self.0.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.0.tasks.stop().await;
        let written = self.0.visits.flush(&self.0.store).await;
        let closed = deadline::in_time(async {
            self.0.store.close().await;
            Ok(())
        });
        closed.await.and(written)
    }
}
