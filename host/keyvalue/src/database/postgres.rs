//! Stores in a PostgreSQL database, which hosts may share. Its clock decides what has expired, not theirs.

use std::str::FromStr as _;

use bulkhead_database::Pool;
use sqlx::{
    ConnectOptions as _, Connection as _,
    postgres::{PgConnectOptions, PgConnection},
};

use super::{ANSWER_BYTES, EXPIRED, NumberedKeys, PAGE, WRITE, count, end};
use crate::{
    change::{Change, Rows, Usage, expire},
    config::StoreSettings,
    error::StoreFailure,
};

/// Advisory lock for creating the tables; that of the shared state is this number minus one.
const LOCK: i64 = 0x6275_6c6b_6865_6167;

/// Limits that the server enforces, so that a host that has stopped holds no lock.
const SESSION_LIMITS: &str = "SET statement_timeout = '4s'; SET lock_timeout = '3s';
    SET idle_in_transaction_session_timeout = '10s'";

/// Queries that read nothing and fail if a column is missing.
const PROBES: [&str; 2] = [
    "SELECT store, keys, bytes, last_id FROM bulkhead_keyvalue_store LIMIT 0",
    "SELECT store, key, id, value, expires_at FROM bulkhead_keyvalue LIMIT 0",
];

const EXIST: &str = "SELECT to_regclass('bulkhead_keyvalue_store') IS NOT NULL AND to_regclass('bulkhead_keyvalue') IS NOT NULL";

const CREATE: &str = "
    CREATE TABLE IF NOT EXISTS bulkhead_keyvalue_store (
        store varchar(64) NOT NULL PRIMARY KEY,
        keys bigint NOT NULL,
        bytes bigint NOT NULL,
        last_id bigint NOT NULL
    );
    CREATE TABLE IF NOT EXISTS bulkhead_keyvalue (
        store varchar(64) NOT NULL,
        key bytea NOT NULL,
        id bigint NOT NULL,
        value bytea NOT NULL,
        expires_at timestamptz,
        PRIMARY KEY (store, key)
    );
    CREATE UNIQUE INDEX IF NOT EXISTS bulkhead_keyvalue_id ON bulkhead_keyvalue (store, id);
    CREATE INDEX IF NOT EXISTS bulkhead_keyvalue_expires_at
        ON bulkhead_keyvalue (store, expires_at) WHERE expires_at IS NOT NULL;";

/// Stores in a PostgreSQL database.
pub(crate) struct PostgresStores {
    pool: Pool<sqlx::Postgres>,
}

/// Creates missing tables, one host at a time, and checks the columns of existing ones.
async fn prepare(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(SESSION_LIMITS).execute(&mut *connection).await?;
    let exist: bool = sqlx::query_scalar(EXIST).fetch_one(&mut *connection).await?;
    if !exist {
        let mut transaction = connection.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *transaction).await?;
        sqlx::raw_sql(CREATE).execute(&mut *transaction).await?;
        transaction.commit().await?;
    }
    for probe in PROBES {
        sqlx::query(probe).execute(&mut *connection).await?;
    }
    Ok(())
}

impl PostgresStores {
    /// Makes the stores of a database that is connected to on first use.
    pub(super) fn new(url: &str) -> Result<Self, StoreFailure> {
        let options =
            PgConnectOptions::from_str(url)?.application_name("bulkhead").disable_statement_logging();
        let pool = Pool::new(options, Box::new(|connection| Box::pin(prepare(connection))));
        Ok(Self { pool })
    }

    pub(super) async fn values(
        &self,
        store: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        let (mut values, mut left) = (Vec::with_capacity(keys.len()), ANSWER_BYTES);
        let mut lease = self.pool.lease().await?;
        for key in keys {
            let value = value(&mut lease.connection, store, key).await?;
            left = count(left, value.as_ref())?;
            values.push(value);
        }
        lease.release();
        Ok(values)
    }

    pub(super) async fn exists(&self, store: &str, key: &str) -> Result<bool, StoreFailure> {
        let mut lease = self.pool.lease().await?;
        let exists: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM bulkhead_keyvalue
                WHERE store = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > clock_timestamp()))",
        )
        .bind(store)
        .bind(key.as_bytes())
        .fetch_one(&mut lease.connection)
        .await?;
        lease.release();
        Ok(exists)
    }

    pub(super) async fn page(&self, store: &str, after: i64) -> Result<NumberedKeys, StoreFailure> {
        let mut lease = self.pool.lease().await?;
        let rows = sqlx::query_as(
            "SELECT id, key FROM bulkhead_keyvalue
                WHERE store = $1 AND id > $2 AND (expires_at IS NULL OR expires_at > clock_timestamp())
                ORDER BY id LIMIT $3",
        )
        .bind(store)
        .bind(after)
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
        let mut lease = self.pool.lease().await?;
        let ttl = settings.ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
        // The statements after the one that locks the store must see what was committed while it waited.
        let mut transaction = lease.connection.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        let mut rows = PostgresRows { connection: &mut transaction, store, ttl };
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
    connection: &mut PgConnection,
    store: &str,
    key: &str,
) -> Result<Option<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT value FROM bulkhead_keyvalue
            WHERE store = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > clock_timestamp())",
    )
    .bind(store)
    .bind(key.as_bytes())
    .fetch_optional(connection)
    .await
}

/// The rows of a store in a transaction, which its row in `bulkhead_keyvalue_store` locks.
struct PostgresRows<'t> {
    connection: &'t mut PgConnection,
    store: &'t str,
    /// Milliseconds.
    ttl: Option<i64>,
}

impl Rows for PostgresRows<'_> {
    async fn usage(&mut self) -> Result<Usage, sqlx::Error> {
        sqlx::query(
            "INSERT INTO bulkhead_keyvalue_store (store, keys, bytes, last_id) VALUES ($1, 0, 0, 0)
            ON CONFLICT (store) DO NOTHING",
        )
        .bind(self.store)
        .execute(&mut *self.connection)
        .await?;
        let (keys, bytes, last_id) = sqlx::query_as(
            "SELECT keys, bytes, last_id FROM bulkhead_keyvalue_store WHERE store = $1 FOR UPDATE",
        )
        .bind(self.store)
        .fetch_one(&mut *self.connection)
        .await?;
        Ok(Usage { keys, bytes, last_id })
    }

    async fn set_usage(&mut self, usage: Usage) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE bulkhead_keyvalue_store SET keys = $2, bytes = $3, last_id = $4 WHERE store = $1",
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
            "SELECT id, octet_length(key)::bigint + octet_length(value)::bigint
                FROM bulkhead_keyvalue WHERE store = $1 AND key = $2",
        )
        .bind(self.store)
        .bind(key.as_bytes())
        .fetch_optional(&mut *self.connection)
        .await
    }

    async fn value(&mut self, key: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
        value(self.connection, self.store, key).await
    }

    async fn put(&mut self, id: i64, key: &str, value: &[u8]) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO bulkhead_keyvalue (store, key, id, value, expires_at)
            VALUES ($1, $2, $3, $4, clock_timestamp() + $5::bigint * interval '1 millisecond')
            ON CONFLICT (store, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
        )
        .bind(self.store)
        .bind(key.as_bytes())
        .bind(id)
        .bind(value)
        .bind(self.ttl)
        .execute(&mut *self.connection)
        .await?;
        Ok(())
    }

    async fn remove(&mut self, key: &str) -> Result<(), sqlx::Error> {
        sqlx::query("DELETE FROM bulkhead_keyvalue WHERE store = $1 AND key = $2")
            .bind(self.store)
            .bind(key.as_bytes())
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    async fn expire(&mut self) -> Result<Vec<i64>, sqlx::Error> {
        sqlx::query_scalar(
            "DELETE FROM bulkhead_keyvalue WHERE store = $1 AND id IN (
                SELECT id FROM bulkhead_keyvalue
                    WHERE store = $1 AND expires_at <= clock_timestamp() LIMIT $2)
            RETURNING octet_length(key)::bigint + octet_length(value)::bigint",
        )
        .bind(self.store)
        .bind(EXPIRED)
        .fetch_all(&mut *self.connection)
        .await
    }
}
