//! Stores in a file of SQLite.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use bulkhead_database::{
    Pool,
    sqlite::{set_damaged_aside, unfinished_fault},
};
use bulkhead_os::{clock::HostClock, damaged_files::DamagedFiles, files};
use sqlx::{
    ConnectOptions as _, Connection as _, Sqlite,
    sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous},
};
use tokio::sync::Mutex;

use super::{ANSWER_BYTES, EXPIRED, NumberedKeys, PAGE, WRITE, count, end};
use crate::{
    change::{Change, Rows, Usage, expire},
    config::StoreSettings,
    error::StoreFailure,
};

/// How long a writer of another process may hold the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS bulkhead_keyvalue_store (
        store TEXT NOT NULL PRIMARY KEY,
        keys INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        last_id INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS bulkhead_keyvalue (
        store TEXT NOT NULL,
        key BLOB NOT NULL,
        id INTEGER NOT NULL,
        value BLOB NOT NULL,
        expires_at INTEGER,
        PRIMARY KEY (store, key)
    );
    CREATE UNIQUE INDEX IF NOT EXISTS bulkhead_keyvalue_id ON bulkhead_keyvalue (store, id);
    CREATE INDEX IF NOT EXISTS bulkhead_keyvalue_expires_at
        ON bulkhead_keyvalue (store, expires_at) WHERE expires_at IS NOT NULL;";

/// Stores in a file of SQLite. Times are Unix milliseconds of the host's clock.
pub(crate) struct SqliteStores {
    pool: Pool<Sqlite>,
    path: PathBuf,
    /// Whether the file was opened at the start.
    is_open: bool,
    clock: HostClock,
    /// Writers take turns here, and not in SQLite, where they would wait in no order.
    writers: Mutex<()>,
}

async fn prepare(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(TABLES).execute(connection).await?;
    Ok(())
}

impl SqliteStores {
    /// Opens or creates the file, readable by its owner only when created. A damaged one is set aside and recorded. Where the
    /// disk takes nothing, writes fail until it does.
    pub(super) async fn open(
        path: &Path,
        clock: HostClock,
        damaged_files: &DamagedFiles,
    ) -> Result<Self, StoreFailure> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .disable_statement_logging();
        let pool = Pool::new(options.clone(), Box::new(|connection| Box::pin(prepare(connection))));
        let opened = async {
            set_damaged_aside(&options, damaged_files).await?;
            files::create(path).map_err(sqlx::Error::Io)?;
            pool.lease().await?.release();
            Ok::<_, StoreFailure>(())
        };
        let is_open = match opened.await {
            Err(failure) if failure.is_of_disk(path) => {
                let failure =
                    unfinished_fault(path).map_or(failure, |fault| StoreFailure::Database(fault.into()));
                tracing::error!(file = %path.display(), %failure, "the stores cannot be opened; calls try again");
                false
            }
            opened => opened.map(|()| true)?,
        };
        Ok(Self { pool, path: path.to_owned(), is_open, clock, writers: Mutex::new(()) })
    }

    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns why nothing can be written to the file's disk; `None` if it can.
    pub(super) fn disk_fault(&self) -> Option<&'static str> {
        files::disk_fault(self.path.parent()?)
    }

    pub(super) async fn values(
        &self,
        store: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        let (mut values, mut left, now) = (Vec::with_capacity(keys.len()), ANSWER_BYTES, self.clock.millis());
        let mut lease = self.pool.lease_to_read().await?;
        for key in keys {
            let value = value(&mut lease.connection, store, key, now).await?;
            left = count(left, value.as_ref())?;
            values.push(value);
        }
        lease.release();
        Ok(values)
    }

    pub(super) async fn exists(&self, store: &str, key: &str) -> Result<bool, StoreFailure> {
        let mut lease = self.pool.lease_to_read().await?;
        let exists: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM bulkhead_keyvalue
                WHERE store = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?))",
        )
        .bind(store)
        .bind(key.as_bytes())
        .bind(self.clock.millis())
        .fetch_one(&mut lease.connection)
        .await?;
        lease.release();
        Ok(exists)
    }

    pub(super) async fn page(&self, store: &str, after: i64) -> Result<NumberedKeys, StoreFailure> {
        let mut lease = self.pool.lease_to_read().await?;
        let rows = sqlx::query_as(
            "SELECT id, key FROM bulkhead_keyvalue
                WHERE store = ? AND id > ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY id LIMIT ?",
        )
        .bind(store)
        .bind(after)
        .bind(self.clock.millis())
        .bind(PAGE as i64 + 1)
        .fetch_all(&mut lease.connection)
        .await?;
        lease.release();
        Ok(rows)
    }

    /// Makes a change in a transaction, or deletes expired values without one.
    pub(super) async fn transact(
        &self,
        store: &str,
        settings: &StoreSettings,
        change: Option<&Change>,
    ) -> Result<u64, StoreFailure> {
        let _turn = self.writers.lock().await;
        let mut lease = self.pool.lease().await?;
        let now = self.clock.millis();
        let ttl = settings.ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
        let expires_at = ttl.map(|ttl| now.saturating_add(ttl));
        let mut transaction = lease.connection.begin_with("BEGIN IMMEDIATE").await?;
        let mut rows = SqliteRows { connection: &mut transaction, store, now, expires_at };
        let answer = match change {
            Some(change) => change.apply(&mut rows, settings).await,
            None => expire(&mut rows).await,
        };
        if end(transaction, &answer).await? {
            lease.release();
        }
        answer
    }

    pub(super) async fn probe(&self) -> Result<(), StoreFailure> {
        let _turn = self.writers.lock().await;
        let mut lease = self.pool.lease().await?;
        sqlx::query(WRITE).execute(&mut lease.connection).await?;
        lease.release();
        Ok(())
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

async fn value(
    connection: &mut SqliteConnection,
    store: &str,
    key: &str,
    now: i64,
) -> Result<Option<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT value FROM bulkhead_keyvalue
            WHERE store = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)",
    )
    .bind(store)
    .bind(key.as_bytes())
    .bind(now)
    .fetch_optional(connection)
    .await
}

/// The rows of a store in a transaction, which `BEGIN IMMEDIATE` locks.
struct SqliteRows<'t> {
    connection: &'t mut SqliteConnection,
    store: &'t str,
    now: i64,
    expires_at: Option<i64>,
}

impl Rows for SqliteRows<'_> {
    async fn usage(&mut self) -> Result<Usage, sqlx::Error> {
        let usage: Option<(i64, i64, i64)> =
            sqlx::query_as("SELECT keys, bytes, last_id FROM bulkhead_keyvalue_store WHERE store = ?")
                .bind(self.store)
                .fetch_optional(&mut *self.connection)
                .await?;
        let (keys, bytes, last_id) = usage.unwrap_or_default();
        Ok(Usage { keys, bytes, last_id })
    }

    async fn set_usage(&mut self, usage: Usage) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO bulkhead_keyvalue_store (store, keys, bytes, last_id) VALUES (?, ?, ?, ?)
            ON CONFLICT (store) DO UPDATE
                SET keys = excluded.keys, bytes = excluded.bytes, last_id = excluded.last_id",
        )
        .bind(self.store)
        .bind(usage.keys)
        .bind(usage.bytes)
        .bind(usage.last_id)
        .execute(&mut *self.connection)
        .await?;
        Ok(())
    }

    async fn find(&mut self, key: &str) -> Result<Option<(i64, i64)>, sqlx::Error> {
        sqlx::query_as(
            "SELECT id, length(key) + length(value) FROM bulkhead_keyvalue WHERE store = ? AND key = ?",
        )
        .bind(self.store)
        .bind(key.as_bytes())
        .fetch_optional(&mut *self.connection)
        .await
    }

    async fn value(&mut self, key: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
        value(self.connection, self.store, key, self.now).await
    }

    async fn put(&mut self, id: i64, key: &str, value: &[u8]) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO bulkhead_keyvalue (store, key, id, value, expires_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (store, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
        )
        .bind(self.store)
        .bind(key.as_bytes())
        .bind(id)
        .bind(value)
        .bind(self.expires_at)
        .execute(&mut *self.connection)
        .await?;
        Ok(())
    }

    async fn remove(&mut self, key: &str) -> Result<(), sqlx::Error> {
        sqlx::query("DELETE FROM bulkhead_keyvalue WHERE store = ? AND key = ?")
            .bind(self.store)
            .bind(key.as_bytes())
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    async fn expire(&mut self) -> Result<Vec<i64>, sqlx::Error> {
        sqlx::query_scalar(
            "DELETE FROM bulkhead_keyvalue WHERE store = ?1 AND id IN (
                SELECT id FROM bulkhead_keyvalue WHERE store = ?1 AND expires_at <= ?2 LIMIT ?3)
            RETURNING length(key) + length(value)",
        )
        .bind(self.store)
        .bind(self.now)
        .bind(EXPIRED)
        .fetch_all(&mut *self.connection)
        .await
    }
}
