//! The ledger as its callers see it.

use super::StorageError;
use super::load::{Load, Loads};
use super::memory::Memory;
use super::pool::PoolStats;
use super::postgres::Postgres;
use super::records::{self, Claim, Id, MAX_LIMIT, Rows, Swept, Visits};
use super::sqlite::Sqlite;
use super::store::{self, Store};
use super::tasks::{Counts, Tasks};
use super::visits::Recorder;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// Where the ledger lives.
#[derive(Clone)]
pub enum Backend {
    /// A file, created if missing; its folder too.
    Sqlite(PathBuf),
    /// A URL, `postgres://user:password@host:port/database`.
    Postgres(String),
    /// Nowhere, for tests and benches: it holds a million rows at most and forgets them at the end.
    Memory,
}

/// Leaves out the URL, which holds a password.
impl fmt::Debug for Backend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => out.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => out.write_str("Postgres(..)"),
            Self::Memory => out.write_str("Memory"),
        }
    }
}

/// How the ledger works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long a visit counts.
    pub window: Duration,
    /// Most connections to the database; at least one.
    pub connections: u32,
}

/// The challenge whose failures are counted to see whether anything can be written; no challenge has this id.
const PROBE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// How long that row is kept, milliseconds; a sweep deletes it then.
const PROBE_LASTS: i64 = 60_000;

/// What is remembered between calls: who asked how often, and which challenges are spent. Clones share it.
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
    tasks: Tasks,
    closed: AtomicBool,
    /// The runtime that drives the connections: whoever asks from another one must not open connections there.
    home: Handle,
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
    pub async fn open(backend: Backend, options: Options) -> Result<Self, StorageError> {
        let store = match backend {
            Backend::Sqlite(path) => Store::Sqlite(Sqlite::open(&path, options.connections).await?),
            Backend::Postgres(url) => Store::Postgres(Postgres::open(&url, options.connections).await?),
            Backend::Memory => Store::Memory(Memory::default()),
        };
        Ok(Self::over(store, options))
    }

    /// The same, except that a PostgreSQL server which cannot be reached is waited for: until then every call is
    /// answered with `Unavailable`.
    ///
    /// # Errors
    /// See [`Ledger::open`].
    pub async fn open_when_reached(backend: Backend, options: Options) -> Result<Self, StorageError> {
        let Backend::Postgres(url) = backend else { return Self::open(backend, options).await };
        let store = Postgres::open_when_reached(&url, options.connections).await?;
        Ok(Self::over(Store::Postgres(store), options))
    }

    /// Whether the database has been reached since the start.
    #[must_use]
    pub fn has_been_reached(&self) -> bool {
        self.0.store.has_been_reached()
    }

    fn over(store: Store, options: Options) -> Self {
        let store = Arc::new(store);
        let visits = Arc::new(Recorder::new(options.window));
        let counts = Arc::new(Counts::new());
        let tasks = Tasks::start(&store, &visits, &counts);
        let (loads, closed, home) = (Loads::default(), AtomicBool::new(false), Handle::current());
        Self(Arc::new(Inner { store, visits, counts, loads, tasks, closed, home }))
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
        let counted = store::in_time(self.0.visits.record(store, site, client, allow_listed)).await?;
        self.0.counts.visited();
        Ok(counted)
    }

    /// How often the challenge `id` (64 lower-case hex digits) has been spent.
    pub async fn spent(&self, id: &str) -> Result<u32, StorageError> {
        self.store()?.spent(&Id::parse(id)?, records::now()).await
    }

    /// Spends the challenge `id` (64 lower-case hex digits) once, or as often as is left of `limit` when `all`, in one
    /// atomic and durable step. True when there was at least one left.
    ///
    /// It is remembered until `expires_at` (Unix seconds) and [`SKEW`](super::SKEW); a challenge past that is never
    /// granted. After `Unavailable` the spend may or may not have been counted, but nobody was granted it.
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
            now: records::now(),
            limit,
            spends: if all { limit } else { 1 },
        };
        if limit == 0 || claim.is_late() {
            return Ok(false);
        }
        let spent = store.claim(claim).await?;
        self.0.counts.claimed(spent);
        Ok(spent > 0)
    }

    /// Counts one failed attempt at the challenge `id` (64 lower-case hex digits) and answers how many there have
    /// been; remembered as a claim is.
    pub async fn record_failure(&self, id: &str, expires_at: u64) -> Result<u32, StorageError> {
        self.store()?.fail(&Id::parse(id)?, records::row_expiry(expires_at)).await
    }

    /// Figures of `site` over the recent past, in this process.
    #[must_use]
    pub fn load(&self, site: &str) -> Load {
        self.0.loads.load(site, Instant::now())
    }

    /// A challenge was issued at `site`.
    pub fn note_issued(&self, site: &str) {
        self.0.loads.issued(site, Instant::now());
    }

    /// A solution was judged at `site`; when it was good, `solve_ms` is the time that the client reports (milliseconds)
    /// and `cost` the challenge's.
    pub fn note_verified(&self, site: &str, ok: bool, solve_ms: Option<f64>, cost: Option<u32>) {
        self.0.loads.verified(site, ok, solve_ms, cost, Instant::now());
    }

    /// Deletes expired rows now; none when another host is at it. Runs by itself at the start and about every ten
    /// minutes.
    pub async fn sweep(&self) -> Result<Option<Swept>, StorageError> {
        self.store()?.sweep(records::now()).await
    }

    /// Rows that have not expired, at no cost: the last count, at most about ten seconds older than the last call,
    /// with what this host wrote since.
    #[must_use]
    pub fn rows(&self) -> Rows {
        self.0.counts.rows()
    }

    /// Whether the database answers, within [`ANSWER_TIMEOUT`](super::ANSWER_TIMEOUT). May be called from any runtime.
    pub async fn ping(&self) -> Result<(), StorageError> {
        self.store()?;
        let store = self.0.store.clone();
        self.at_home(async move { store.ping().await }).await
    }

    /// Whether the database takes what is written, visits that wait among it, within
    /// [`ANSWER_TIMEOUT`](super::ANSWER_TIMEOUT). Writes a row of its own. May be called from any runtime.
    pub async fn probe(&self) -> Result<(), StorageError> {
        self.store()?;
        self.0.visits.check()?;
        let store = self.0.store.clone();
        let id = Id::parse(PROBE)?;
        let expires_at = records::now().saturating_add(PROBE_LASTS);
        self.at_home(async move { store.fail(&id, expires_at).await.map(drop) }).await
    }

    /// Asks on the ledger's own runtime.
    async fn at_home(
        &self,
        ask: impl Future<Output = Result<(), StorageError>> + Send + 'static,
    ) -> Result<(), StorageError> {
        let answer = self.0.home.spawn(ask);
        store::in_time(async { answer.await.map_err(|_| StorageError::closed())? }).await
    }

    /// Figures of the connection pool (on SQLite that of the readers).
    #[must_use]
    pub fn pool_stats(&self) -> PoolStats {
        self.0.store.pool_stats()
    }

    /// Refuses further calls, writes the visits that wait, and closes the database.
    ///
    /// # Errors
    /// `Unavailable` when visits could not be written; they are lost.
    pub async fn close(&self) -> Result<(), StorageError> {
        if self.0.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.0.tasks.stop().await;
        let written = self.0.visits.flush(&self.0.store).await;
        let closed = store::in_time(async {
            self.0.store.close().await;
            Ok(())
        });
        closed.await.and(written)
    }
}
