//! SQLite files after a power cut, and a small connection pool: connections are opened when needed and kept while they work.
//!
//! The error of a failed connection is returned at once. After a failure the pool pauses for a while, during which
//! every caller gets the same error at once instead of waiting.

pub mod sqlite;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bulkhead_os::files;
use futures_util::future::BoxFuture;
use sqlx::{Connection, Database, Sqlite};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// One for scans, one for quick queries.
const CONNECTIONS: usize = 2;
/// How long to wait for a permit, and then for a new connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long an idle connection may take to answer a ping.
const PING: Duration = Duration::from_secs(1);
/// Pause after the database could not be reached.
const BACKOFF: Duration = Duration::from_secs(5);

/// Prepares a new connection.
type Setup<DB> = Box<
    dyn for<'c> Fn(&'c mut <DB as Database>::Connection) -> BoxFuture<'c, Result<(), sqlx::Error>>
        + Send
        + Sync,
>;

/// Why there is no connection.
#[derive(Clone, Debug)]
pub enum NoConnection {
    /// All connections are in use for too long.
    Busy,
    /// It was not opened in time.
    Silent,
    /// The database or the network refused it.
    Refused(Arc<sqlx::Error>),
}

/// A pool of at most two connections.
pub struct Pool<DB: Database> {
    options: <DB::Connection as Connection>::Options,
    setup: Setup<DB>,
    permits: Arc<Semaphore>,
    state: Arc<Mutex<PoolState<DB>>>,
}

struct PoolState<DB: Database> {
    idle: Vec<DB::Connection>,
    last_failure: Option<(Instant, NoConnection)>,
}

impl<DB: Database> std::fmt::Debug for Pool<DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

/// A connection for one query. Dropping it closes it, because one that failed, or whose caller left, may never answer
/// again.
pub struct Lease<DB: Database> {
    /// The connection.
    pub connection: DB::Connection,
    state: Arc<Mutex<PoolState<DB>>>,
    _permit: OwnedSemaphorePermit,
}

impl<DB: Database> Lease<DB> {
    /// Returns the connection to the pool.
    pub fn release(self) {
        lock(&self.state).idle.push(self.connection);
    }
}

fn lock<DB: Database>(state: &Mutex<PoolState<DB>>) -> MutexGuard<'_, PoolState<DB>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<DB: Database> Pool<DB> {
    /// Makes a pool without connections.
    pub fn new(options: <DB::Connection as Connection>::Options, setup: Setup<DB>) -> Self {
        let state = PoolState { idle: Vec::with_capacity(CONNECTIONS), last_failure: None };
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        Self { options, setup, permits, state: Arc::new(Mutex::new(state)) }
    }

    /// Returns a working connection.
    pub async fn lease(&self) -> Result<Lease<DB>, NoConnection> {
        let permit = timeout(ACQUIRE_TIMEOUT, Arc::clone(&self.permits).acquire_owned());
        let Ok(Ok(permit)) = permit.await else { return Err(NoConnection::Busy) };
        let lease = |connection| Lease { connection, state: Arc::clone(&self.state), _permit: permit };
        if let Some(mut connection) = self.idle()?
            && matches!(timeout(PING, connection.ping()).await, Ok(Ok(())))
        {
            return Ok(lease(connection));
        }
        // After one connection did not answer, the other idle ones are not trusted.
        lock(&self.state).idle.clear();
        let made = timeout(ACQUIRE_TIMEOUT, async {
            let mut connection = sqlite::connect(&self.options).await?;
            (self.setup)(&mut connection).await?;
            Ok(connection)
        });
        let failure = match made.await {
            Ok(Ok(connection)) => {
                lock(&self.state).last_failure = None;
                return Ok(lease(connection));
            }
            Ok(Err(error)) => NoConnection::Refused(Arc::new(error)),
            Err(_) => NoConnection::Silent,
        };
        lock(&self.state).last_failure = Some((Instant::now(), failure.clone()));
        Err(failure)
    }

    /// Returns an idle connection; the last failure during the pause after it.
    fn idle(&self) -> Result<Option<DB::Connection>, NoConnection> {
        let mut state = lock(&self.state);
        match &state.last_failure {
            Some((since, failure)) if since.elapsed() < BACKOFF => Err(failure.clone()),
            _ => Ok(state.idle.pop()),
        }
    }

    /// Closes idle connections, and leases no more.
    pub async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut lock(&self.state).idle);
        for connection in idle {
            // The server also notices a lost connection.
            let _ = timeout(PING, connection.close()).await;
        }
    }
}

impl Pool<Sqlite> {
    /// Returns a connection for reading. One to a file of a read-only disk ends with the lease, because the disk may take
    /// writes again.
    ///
    /// # Errors
    /// As [`Pool::lease`], and with what to do when changes of such a file are only in its log or its journal.
    pub async fn lease_to_read(&self) -> Result<Lease<Sqlite>, NoConnection> {
        let path = self.options.get_filename();
        if !files::is_read_only(path) {
            return self.lease().await;
        }
        let options = match sqlite::is_unchanging(path) {
            true => self.options.clone().read_only(true).immutable(true),
            false => self.options.clone(),
        };
        let setup: Setup<Sqlite> = Box::new(|connection| Box::pin(sqlite::read_schema(connection)));
        // As many connections as this pool has.
        let pool = Self { permits: Arc::clone(&self.permits), ..Self::new(options, setup) };
        let unfinished = |refused| match sqlite::unfinished_fault(path) {
            Some(fault) => NoConnection::Refused(Arc::new(fault.into())),
            None => refused,
        };
        pool.lease().await.map_err(unfinished)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::pin::pin;

    use sqlx::{
        ConnectOptions as _,
        sqlite::{SqliteConnectOptions, SqliteJournalMode},
    };
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn busy_file_is_leased_later() {
        let folder = TempDir::new().unwrap();
        let options = SqliteConnectOptions::new()
            .filename(folder.path().join("a.sqlite"))
            .create_if_missing(true)
            .busy_timeout(Duration::ZERO);
        let rollback = options.clone().journal_mode(SqliteJournalMode::Delete);
        let mut first = rollback.connect().await.unwrap();
        sqlx::raw_sql("CREATE TABLE row (text TEXT); BEGIN EXCLUSIVE").execute(&mut first).await.unwrap();
        let log = options.journal_mode(SqliteJournalMode::Wal);
        assert!(log.connect().await.is_err(), "it is busy");
        let pool = Pool::<Sqlite>::new(log, Box::new(|_| Box::pin(async { Ok(()) })));
        let mut leasing = pin!(pool.lease());
        assert!(timeout(Duration::from_millis(50), &mut leasing).await.is_err());
        sqlx::raw_sql("ROLLBACK").execute(&mut first).await.unwrap();
        leasing.await.unwrap().release();
    }
}
