//! A few connections, made when they are needed and kept while they are sound.
//!
//! What a connection fails for is told at once and in its own words. A database that could not be reached is left alone
//! for a while, in which whoever asks hears the same: nobody waits for what has just failed.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use sqlx::{ConnectOptions, Connection, Database};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// One to scan with, one for all that is quick.
const CONNECTIONS: usize = 2;
/// How long a free connection, and then a new one, is waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a kept connection may take to show that it is still there.
const PING: Duration = Duration::from_secs(1);
/// How long a database that could not be reached is left alone.
const PAUSE: Duration = Duration::from_secs(5);

/// Readies a new connection.
type Setup<DB> = Box<
    dyn for<'c> Fn(&'c mut <DB as Database>::Connection) -> BoxFuture<'c, Result<(), sqlx::Error>>
        + Send
        + Sync,
>;

/// Why there is no connection.
#[derive(Clone, Debug)]
pub enum NoConnection {
    /// All are in use for too long.
    Busy,
    /// It was not made in time.
    Silent,
    /// The database, or the way to it, says no.
    Refused(Arc<sqlx::Error>),
}

/// At most [`CONNECTIONS`] connections.
pub struct Pool<DB: Database> {
    options: <DB::Connection as Connection>::Options,
    setup: Setup<DB>,
    places: Arc<Semaphore>,
    state: Arc<Mutex<State<DB>>>,
}

struct State<DB: Database> {
    idle: Vec<DB::Connection>,
    away: Option<(Instant, NoConnection)>,
}

impl<DB: Database> std::fmt::Debug for Pool<DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

/// A connection for one query. Dropped it is closed: one that failed, or whose caller left in the middle, may never answer
/// again.
pub struct Lease<DB: Database> {
    /// The connection.
    pub connection: DB::Connection,
    state: Arc<Mutex<State<DB>>>,
    _place: OwnedSemaphorePermit,
}

impl<DB: Database> Lease<DB> {
    /// Gives the connection back for the next.
    pub fn keep(self) {
        lock(&self.state).idle.push(self.connection);
    }
}

fn lock<DB: Database>(state: &Mutex<State<DB>>) -> MutexGuard<'_, State<DB>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<DB: Database> Pool<DB> {
    /// Connects to nothing yet.
    pub fn new(options: <DB::Connection as Connection>::Options, setup: Setup<DB>) -> Self {
        let state = State { idle: Vec::with_capacity(CONNECTIONS), away: None };
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        Self { options, setup, places, state: Arc::new(Mutex::new(state)) }
    }

    /// A connection that works.
    pub async fn lease(&self) -> Result<Lease<DB>, NoConnection> {
        let place = timeout(PATIENCE, Arc::clone(&self.places).acquire_owned());
        let Ok(Ok(place)) = place.await else { return Err(NoConnection::Busy) };
        let lease = |connection| Lease { connection, state: Arc::clone(&self.state), _place: place };
        if let Some(mut connection) = self.idle()?
            && matches!(timeout(PING, connection.ping()).await, Ok(Ok(())))
        {
            return Ok(lease(connection));
        }
        // The one that did not answer may have been the last of its kind.
        lock(&self.state).idle.clear();
        let made = timeout(PATIENCE, async {
            let mut connection = self.options.connect().await?;
            (self.setup)(&mut connection).await?;
            Ok(connection)
        });
        let failure = match made.await {
            Ok(Ok(connection)) => {
                lock(&self.state).away = None;
                return Ok(lease(connection));
            }
            Ok(Err(error)) => NoConnection::Refused(Arc::new(error)),
            Err(_) => NoConnection::Silent,
        };
        lock(&self.state).away = Some((Instant::now(), failure.clone()));
        Err(failure)
    }

    /// One that was kept; the failure while the database is left alone.
    fn idle(&self) -> Result<Option<DB::Connection>, NoConnection> {
        let mut state = lock(&self.state);
        match &state.away {
            Some((since, failure)) if since.elapsed() < PAUSE => Err(failure.clone()),
            _ => Ok(state.idle.pop()),
        }
    }

    /// Closes what is not in use, and gives out no more.
    pub async fn close(&self) {
        self.places.close();
        let idle = std::mem::take(&mut lock(&self.state).idle);
        for connection in idle {
            // The server notices by itself if this does not reach it.
            let _ = timeout(PING, connection.close()).await;
        }
    }
}
