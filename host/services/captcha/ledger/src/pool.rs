//! Wraps sqlx's connection pool with metrics and a timeout.
//!
//! sqlx's pool retries while a starting server refuses connections. The pool of `host/database` returns a refusal at
//! once, and then pauses.

use super::StorageError;
use sqlx::pool::{PoolConnection, PoolOptions};
use sqlx::{Connection, Database, Pool};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Returns the longest wait for a connection, and on SQLite for a lock, where a call waits `answer` at most. It is
/// shorter than `answer`, so that a missing connection is reported as such and a query has time left.
pub(super) fn acquire_timeout(answer: Duration) -> Duration {
    answer.mul_f64(0.75)
}

/// A connection that was idle this long is tested before use: one round trip instead of an error after a restart of the
/// server.
const TRY_AFTER: Duration = Duration::from_secs(1);

/// Figures of the connection pool; all zero without a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolStats {
    /// Open connections.
    pub size: u32,
    /// Of those, free ones.
    pub idle: u32,
    /// Of those, ones in use.
    pub active: u32,
    /// Callers that wait for one.
    pub pending: u64,
    /// Most connections.
    pub max: u32,
    /// Fewest connections.
    pub min: u32,
    /// Waits that were given up, since the start.
    pub timeouts: u64,
    /// Waits for a connection.
    pub acquire: Timing,
    /// Times that a connection was in use.
    pub usage: Timing,
}

/// Durations, since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// How many.
    pub count: u64,
    /// Their sum, seconds.
    pub sum: f64,
    /// The longest, seconds.
    pub max: f64,
}

#[derive(Default)]
struct Recorder {
    count: AtomicU64,
    nanos: AtomicU64,
    longest: AtomicU64,
}

impl Recorder {
    fn record(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Relaxed);
        self.nanos.fetch_add(nanos, Relaxed);
        self.longest.fetch_max(nanos, Relaxed);
    }

    fn timing(&self) -> Timing {
        let seconds = |nanos: &AtomicU64| Duration::from_nanos(nanos.load(Relaxed)).as_secs_f64();
        Timing { count: self.count.load(Relaxed), sum: seconds(&self.nanos), max: seconds(&self.longest) }
    }
}

#[derive(Default)]
struct Meter {
    pending: AtomicU64,
    timeouts: AtomicU64,
    acquire: Recorder,
    usage: Recorder,
}

/// Counts a waiting caller for as long as it waits, also when it leaves.
struct Waiting<'a>(&'a AtomicU64);

impl<'a> Waiting<'a> {
    fn new(pending: &'a AtomicU64) -> Self {
        pending.fetch_add(1, Relaxed);
        Self(pending)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A pool of connections to one database.
pub(super) struct Connections<DB: Database> {
    pool: Pool<DB>,
    meter: Arc<Meter>,
}

impl<DB: Database> Connections<DB> {
    /// Makes a pool of at most `max` connections, opened when needed, for calls that wait `answer` at most.
    pub(super) fn new(options: <DB::Connection as Connection>::Options, max: u32, answer: Duration) -> Self {
        let pool = PoolOptions::new()
            .max_connections(max.max(1))
            // An attempt to keep one open would keep the pool from closing while the server is away.
            .min_connections(0)
            .acquire_timeout(acquire_timeout(answer))
            .test_before_acquire(false)
            .before_acquire(|connection: &mut DB::Connection, meta| {
                Box::pin(async move {
                    if meta.idle_for >= TRY_AFTER {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options);
        Self { pool, meter: Arc::default() }
    }

    /// Returns a connection, within [`acquire_timeout`].
    pub(super) async fn acquire(&self) -> Result<Lease<DB>, StorageError> {
        let _waiting = Waiting::new(&self.meter.pending);
        let asked = Instant::now();
        let connection = self.pool.acquire().await.inspect_err(|error| {
            if matches!(error, sqlx::Error::PoolTimedOut) {
                self.meter.timeouts.fetch_add(1, Relaxed);
            }
        })?;
        self.meter.acquire.record(asked.elapsed());
        Ok(Lease { connection, since: Instant::now(), meter: self.meter.clone(), sound: false })
    }

    /// Returns whether all allowed connections exist and none is free.
    pub(super) fn are_all_in_use(&self) -> bool {
        self.pool.size() >= self.pool.options().get_max_connections() && self.pool.num_idle() == 0
    }

    pub(super) fn stats(&self) -> PoolStats {
        let size = self.pool.size();
        let idle = u32::try_from(self.pool.num_idle()).unwrap_or(size).min(size);
        PoolStats {
            size,
            idle,
            active: size - idle,
            pending: self.meter.pending.load(Relaxed),
            max: self.pool.options().get_max_connections(),
            min: self.pool.options().get_min_connections(),
            timeouts: self.meter.timeouts.load(Relaxed),
            acquire: self.meter.acquire.timing(),
            usage: self.meter.usage.timing(),
        }
    }

    /// Closes the connections once they are free.
    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

/// A connection in use. It goes back to the pool only after [`Lease::done`]: one that failed, or whose caller left
/// in the middle, is closed, since the server may never answer on it.
pub(super) struct Lease<DB: Database> {
    connection: PoolConnection<DB>,
    since: Instant,
    meter: Arc<Meter>,
    sound: bool,
}

impl<DB: Database> Lease<DB> {
    /// Gives it back.
    pub(super) fn done(mut self) {
        self.sound = true;
    }
}

impl<DB: Database> Deref for Lease<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &Self::Target {
        &self.connection
    }
}

impl<DB: Database> DerefMut for Lease<DB> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.connection
    }
}

impl<DB: Database> Drop for Lease<DB> {
    fn drop(&mut self) {
        self.meter.usage.record(self.since.elapsed());
        if !self.sound {
            self.connection.close_on_drop();
        }
    }
}
