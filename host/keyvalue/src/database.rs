//! The database that holds the stores: SQLite or PostgreSQL.

mod postgres;
mod sqlite;

use std::{path::Path, time::Duration};

use bulkhead_os::{clock::HostClock, damaged_files::DamagedFiles};
use sqlx::Transaction;
use tokio::time::timeout;

use super::{
    change::Change,
    config::{KeyValueDatabase, StoreSettings},
    error::StoreFailure,
};
use postgres::PostgresStores;
use sqlite::SqliteStores;

/// Name of the file in the data folder.
const FILE: &str = "keyvalue.sqlite";
/// Longest wait of a call for an answer, the wait for a connection included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);
/// Most bytes of the values that one call is answered.
const ANSWER_BYTES: usize = 8 << 20;
/// Keys of a page.
const PAGE: usize = 256;
/// Values that one transaction deletes because they have expired.
const EXPIRED: i64 = 1000;

/// Writes to a row that belongs to no store.
const WRITE: &str = "INSERT INTO bulkhead_keyvalue_store (store, keys, bytes, last_id) VALUES ('', 0, 0, 1)
    ON CONFLICT (store) DO UPDATE SET last_id = bulkhead_keyvalue_store.last_id + 1";

/// The keys of a page with their numbers.
type NumberedKeys = Vec<(i64, Vec<u8>)>;

/// The database.
pub(crate) enum Database {
    Sqlite(Box<SqliteStores>),
    Postgres(Box<PostgresStores>),
}

/// Waits as long as a call may.
async fn in_time<T>(answer: impl Future<Output = Result<T, StoreFailure>>) -> Result<T, StoreFailure> {
    // The future of a query is kilobytes large.
    timeout(ANSWER_TIMEOUT, Box::pin(answer)).await.unwrap_or(Err(StoreFailure::Late))
}

/// Counts the bytes of values until there are too many.
fn count(left: usize, value: Option<&Vec<u8>>) -> Result<usize, StoreFailure> {
    left.checked_sub(value.map_or(0, Vec::len)).ok_or_else(|| {
        StoreFailure::Refused(format!("the values have more than {ANSWER_BYTES} bytes; ask for fewer keys"))
    })
}

/// Returns the keys of a page, and where the next one begins.
fn page(mut rows: NumberedKeys) -> (Vec<String>, Option<u64>) {
    let has_more = rows.len() > PAGE;
    rows.truncate(PAGE);
    let last = rows.last().map(|(id, _)| id.cast_unsigned());
    let keys = rows.into_iter().filter_map(|(_, key)| String::from_utf8(key).ok()).collect();
    (keys, last.filter(|_| has_more))
}

/// Commits a transaction in which a change was made, and rolls one back in which it was refused. Returns whether the
/// connection may be used again; after another failure it is closed.
async fn end<DB: sqlx::Database>(
    transaction: Transaction<'_, DB>,
    answer: &Result<u64, StoreFailure>,
) -> Result<bool, sqlx::Error> {
    match answer {
        Ok(_) => transaction.commit().await?,
        Err(StoreFailure::Refused(_)) => transaction.rollback().await?,
        Err(_) => return Ok(false),
    }
    Ok(true)
}

impl Database {
    /// Opens the database. A file must be writable; a server need not answer yet.
    pub(crate) async fn open(
        database: &KeyValueDatabase,
        data_dir: &Path,
        clock: HostClock,
        damaged_files: &DamagedFiles,
    ) -> Result<Self, StoreFailure> {
        let path = match database {
            KeyValueDatabase::DataFolder => &data_dir.join(FILE),
            KeyValueDatabase::Sqlite(path) => path,
            KeyValueDatabase::Postgres(url) => {
                return Ok(Self::Postgres(PostgresStores::new(url.expose())?.into()));
            }
        };
        Ok(Self::Sqlite(SqliteStores::open(path, clock, damaged_files).await?.into()))
    }

    /// Returns the value of each key that exists.
    pub(crate) async fn values(
        &self,
        store: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        match self {
            Self::Sqlite(stores) => in_time(stores.values(store, keys)).await,
            Self::Postgres(stores) => in_time(stores.values(store, keys)).await,
        }
    }

    pub(crate) async fn exists(&self, store: &str, key: &str) -> Result<bool, StoreFailure> {
        match self {
            Self::Sqlite(stores) => in_time(stores.exists(store, key)).await,
            Self::Postgres(stores) => in_time(stores.exists(store, key)).await,
        }
    }

    /// Returns the keys after the one with this number, and where the next page begins.
    pub(crate) async fn page(
        &self,
        store: &str,
        after: i64,
    ) -> Result<(Vec<String>, Option<u64>), StoreFailure> {
        let rows = match self {
            Self::Sqlite(stores) => in_time(stores.page(store, after)).await,
            Self::Postgres(stores) => in_time(stores.page(store, after)).await,
        };
        rows.map(page)
    }

    pub(crate) async fn write(
        &self,
        store: &str,
        settings: &StoreSettings,
        change: &Change,
    ) -> Result<u64, StoreFailure> {
        self.transact(store, settings, Some(change)).await
    }

    /// Deletes expired values of a store, within a number of them, and returns how many.
    pub(crate) async fn expire(&self, store: &str, settings: &StoreSettings) -> Result<u64, StoreFailure> {
        self.transact(store, settings, None).await
    }

    async fn transact(
        &self,
        store: &str,
        settings: &StoreSettings,
        change: Option<&Change>,
    ) -> Result<u64, StoreFailure> {
        match self {
            Self::Sqlite(stores) => in_time(stores.transact(store, settings, change)).await,
            Self::Postgres(stores) => in_time(stores.transact(store, settings, change)).await,
        }
    }

    /// Checks that the database accepts a write.
    pub(crate) async fn probe(&self) -> Result<(), StoreFailure> {
        match self {
            Self::Sqlite(stores) => in_time(stores.probe()).await,
            Self::Postgres(stores) => in_time(stores.probe()).await,
        }
    }

    /// Returns whether the database is expected to answer: a file was opened, and a server is connected to on first use.
    pub(crate) fn is_reached(&self) -> bool {
        match self {
            Self::Sqlite(stores) => stores.is_open(),
            Self::Postgres(_) => true,
        }
    }

    /// Returns why nothing can be written to the disk of a file; `None` if it can, and of a server.
    pub(crate) fn disk_fault(&self) -> Option<&'static str> {
        match self {
            Self::Sqlite(stores) => stores.disk_fault(),
            Self::Postgres(_) => None,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(stores) => stores.close().await,
            Self::Postgres(stores) => stores.close().await,
        }
    }
}
