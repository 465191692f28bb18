//! A connection for one snapshot, and the timeout of its answers.

use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};

use crate::error::{Error, PATIENCE};

/// A connection in use. It returns to the pool only after [`Lease::done`]: on one that failed, or whose caller left
/// in the middle, the server may never answer again.
pub(super) struct Lease<DB: Database> {
    pub(super) connection: PoolConnection<DB>,
    sound: bool,
}

impl<DB: Database> Lease<DB> {
    pub(super) async fn new(pool: &Pool<DB>) -> Result<Self, Error> {
        Ok(Self { connection: pool.acquire().await?, sound: false })
    }

    /// Returns the connection to the pool.
    pub(super) fn done(mut self) {
        self.sound = true;
    }
}

impl<DB: Database> Drop for Lease<DB> {
    fn drop(&mut self) {
        if !self.sound {
            self.connection.close_on_drop();
        }
    }
}

/// Returns the database's answer, or [`Error::Timeout`].
pub(super) async fn in_time<T>(answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, Error> {
    Ok(tokio::time::timeout(PATIENCE, answer).await.map_err(|_| Error::Timeout)??)
}
