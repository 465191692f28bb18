//! The errors of stores.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use bulkhead_database::{NoConnection, sqlite::is_disk_fault};

/// Pause between log lines about a database that does not answer.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// Why a store gave no answer. The texts are for guests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyValueError {
    /// The request is refused; the text says why.
    #[error("{0}")]
    Refused(String),
    /// The disk of the database is full.
    #[error("the key-value store has no room on its disk")]
    DiskFull,
    /// The database does not answer.
    #[error("the key-value store does not answer")]
    Unavailable,
    /// The configuration cannot be used.
    #[error("{0}")]
    Settings(String),
}

/// What went wrong, before it is logged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreFailure {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Database(#[from] sqlx::Error),
    #[error("no connection to the database: {0:?}")]
    NoConnection(NoConnection),
    #[error("no answer in time")]
    Late,
}

impl From<NoConnection> for StoreFailure {
    fn from(failure: NoConnection) -> Self {
        Self::NoConnection(failure)
    }
}

impl StoreFailure {
    /// Returns whether the disk of the file at `path` takes nothing.
    pub(crate) fn is_of_disk(&self, path: &Path) -> bool {
        match self {
            Self::Database(error) => is_disk_fault(error, path),
            Self::NoConnection(NoConnection::Refused(error)) => is_disk_fault(error, path),
            Self::NoConnection(NoConnection::Busy | NoConnection::Silent) | Self::Refused(_) | Self::Late => {
                false
            }
        }
    }
}

/// Returns whether the disk of a database is full.
fn is_disk_full(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    // SQLITE_FULL, and PostgreSQL's disk_full.
    code.is_some_and(|code| code == "13" || code == "53100")
}

/// Logs the failures of a database, of many at once only one.
#[derive(Debug, Default)]
pub(crate) struct FailureLog(Mutex<Option<Instant>>);

impl FailureLog {
    /// Returns the error of a failure for guests, and logs what they are not shown.
    pub(crate) fn record(&self, failure: StoreFailure) -> KeyValueError {
        let error = match &failure {
            StoreFailure::Refused(text) => return KeyValueError::Refused(text.clone()),
            StoreFailure::Database(error) if is_disk_full(error) => KeyValueError::DiskFull,
            _ => KeyValueError::Unavailable,
        };
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= LOG_PAUSE) {
            *last = Some(Instant::now());
            tracing::error!(reason = %failure, "{error}; check that its database runs and has room");
        }
        error
    }
}
