//! PostgreSQL, shared by any number of hosts.

use super::StorageError;
use super::pool::{ACQUIRE_TIMEOUT, Connections, Lease, PoolStats};
use super::records::{Claim, Id, Rows, Swept, Visit, Visits, by_site};
use super::schema::Table;
use super::store::in_time;
use super::sweep::{self, Expire, SCAN};
use super::visits::COUNT_CEILING;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use std::str::FromStr;
use std::sync::Arc;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::timeout;
use uuid::Uuid;

/// Advisory lock of whoever creates tables: "bulkhead" in ASCII.
const SCHEMA_LOCK: i64 = 0x6275_6c6b_6865_6164;

/// Advisory lock of the host that sweeps.
const SWEEP_LOCK: i64 = SCHEMA_LOCK + 1;

/// Claims of one challenge take turns in the host before they take a connection, so that many submissions of one
/// payload hold one connection. More places, fewer chance meetings.
const TURNS: usize = 64;

pub(super) struct Postgres {
    options: PgConnectOptions,
    connections: Connections<sqlx::Postgres>,
    turns: Box<[Mutex<()>]>,
    /// Set once the tables are there.
    prepared: OnceCell<()>,
}

impl Postgres {
    /// Connects, and creates what is missing.
    pub(super) async fn open(url: &str, connections: u32) -> Result<Self, StorageError> {
        let postgres = Self::new(url, connections)?;
        postgres.prepare().await?;
        Ok(postgres)
    }

    /// The same; of a server that cannot be reached the tables are looked at once it can.
    pub(super) async fn open_when_reached(url: &str, connections: u32) -> Result<Self, StorageError> {
        let postgres = Self::new(url, connections)?;
        match timeout(ACQUIRE_TIMEOUT, postgres.options.connect()).await {
            Err(_) => tracing::error!("PostgreSQL does not answer; check captcha.database"),
            Ok(Err(error)) if is_away(&error) => {
                tracing::error!(%error, "PostgreSQL cannot be reached; check captcha.database");
            }
            Ok(Err(error)) => return Err(error.into()),
            Ok(Ok(connection)) => {
                drop(connection);
                postgres.prepare().await?;
            }
        }
        Ok(postgres)
    }

    fn new(url: &str, connections: u32) -> Result<Self, StorageError> {
        let mut options = PgConnectOptions::from_str(url)
            .map_err(|_| {
                StorageError::Invalid(
                    "PostgreSQL URL: postgres://user:password@host:port/database is needed".into(),
                )
            })?
            .disable_statement_logging();
        if options.get_application_name().is_none() {
            options = options.application_name("bulkhead");
        }
        let connections = Connections::<sqlx::Postgres>::new(options.clone(), connections);
        let turns = (0..TURNS).map(|_| Mutex::new(())).collect();
        Ok(Self { options, connections, turns, prepared: OnceCell::new() })
    }

    async fn prepare(&self) -> Result<(), StorageError> {
        let prepare = async || {
            let mut lease = self.connections.acquire().await?;
            in_time(prepare(&mut lease)).await?;
            lease.done();
            Ok(())
        };
        self.prepared.get_or_try_init(prepare).await.copied()
    }

    /// Whether the tables have been looked at.
    pub(super) fn is_prepared(&self) -> bool {
        self.prepared.initialized()
    }

    /// A connection to a database that has the tables.
    async fn lease(&self) -> Result<Lease<sqlx::Postgres>, StorageError> {
        if !self.is_prepared() {
            self.prepare().await?;
        }
        self.connections.acquire().await
    }

    pub(super) async fn visits(
        &self,
        site: &str,
        client: &[String],
        now: i64,
    ) -> Result<Visits, StorageError> {
        let mut lease = self.lease().await?;
        let (client, site): (i64, i64) = sqlx::query_as(
            "SELECT
                (SELECT count(*) FROM (
                    SELECT 1 FROM captcha_request
                    WHERE source_address_hash = ANY($1) AND expires_at >= to_timestamp($2)
                    LIMIT $3) AS counted),
                (SELECT coalesce(sum(visits), 0)::bigint FROM bulkhead_site_visits
                    WHERE site = $4 AND expires_at >= to_timestamp($2))",
        )
        .bind(client)
        .bind(seconds(now))
        .bind(COUNT_CEILING.cast_signed())
        .bind(site)
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(Visits { client: client.cast_unsigned(), site: site.cast_unsigned() })
    }

    pub(super) async fn write(&self, batch: &[Arc<Visit>]) -> Result<(), StorageError> {
        let mut lease = self.lease().await?;
        let mut transaction = lease.begin().await?;
        let written = sqlx::query(
            "INSERT INTO captcha_request (id, request_at, source_address_hash, is_whitelisted, expires_at)
            SELECT id, to_timestamp(request_at), source_address_hash, is_whitelisted, to_timestamp(expires_at)
            FROM unnest($1::uuid[], $2::float8[], $3::text[], $4::boolean[], $5::float8[])
                AS visit (id, request_at, source_address_hash, is_whitelisted, expires_at)
            ON CONFLICT (id) DO NOTHING",
        )
        .bind(batch.iter().map(|visit| visit.id).collect::<Vec<_>>())
        .bind(batch.iter().map(|visit| seconds(visit.at)).collect::<Vec<_>>())
        .bind(batch.iter().map(|visit| visit.client.as_str()).collect::<Vec<_>>())
        .bind(batch.iter().map(|visit| visit.allow_listed).collect::<Vec<_>>())
        .bind(batch.iter().map(|visit| seconds(visit.expires_at)).collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await?;
        // None written: the batch had been committed before, though its answer was lost.
        if written.rows_affected() > 0 {
            for ((site, bucket), count) in by_site(batch) {
                sqlx::query(
                    "INSERT INTO bulkhead_site_visits AS known (site, expires_at, visits)
                    VALUES ($1, to_timestamp($2), $3)
                    ON CONFLICT (site, expires_at) DO UPDATE SET visits = known.visits + excluded.visits",
                )
                .bind(site)
                .bind(seconds(bucket))
                .bind(count)
                .execute(&mut *transaction)
                .await?;
            }
        }
        transaction.commit().await?;
        lease.done();
        Ok(())
    }

    pub(super) async fn spent(&self, id: &Id, now: i64) -> Result<u32, StorageError> {
        let mut lease = self.lease().await?;
        let spent: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM invalidated_payload WHERE payload_hash = $1 AND expires_at >= to_timestamp($2)",
        )
        .bind(id.as_str())
        .bind(seconds(now))
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(u32::try_from(spent).unwrap_or(u32::MAX))
    }

    /// Takes the challenge's lock in a statement of its own: under `READ COMMITTED` the next one then sees what the
    /// lock's last holder committed.
    pub(super) async fn claim(&self, claim: &Claim) -> Result<u64, StorageError> {
        let key = claim.id.lock_key();
        let turn =
            usize::try_from(key.cast_unsigned() % TURNS as u64).ok().and_then(|place| self.turns.get(place));
        let _turn = match turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        let mut lease = self.lease().await?;
        let mut transaction = lease.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(key).execute(&mut *transaction).await?;
        let written = sqlx::query(
            "INSERT INTO invalidated_payload (id, payload_hash, expires_at)
            SELECT id, $2, to_timestamp($3) FROM unnest($1::uuid[]) AS spend (id)
            LIMIT greatest(0, $4 - (SELECT count(*) FROM invalidated_payload
                WHERE payload_hash = $2 AND expires_at >= to_timestamp($5)))",
        )
        .bind((0..claim.spends).map(|_| Uuid::new_v4()).collect::<Vec<_>>())
        .bind(claim.id.as_str())
        .bind(seconds(claim.expires_at))
        .bind(i64::from(claim.limit))
        .bind(seconds(claim.now))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        lease.done();
        Ok(written.rows_affected())
    }

    pub(super) async fn fail(&self, id: &Id, expires_at: i64) -> Result<u32, StorageError> {
        let mut lease = self.lease().await?;
        let failures: i64 = sqlx::query_scalar(
            "INSERT INTO bulkhead_failure AS known (payload_hash, failures, expires_at)
            VALUES ($1, 1, to_timestamp($2))
            ON CONFLICT (payload_hash) DO UPDATE SET failures = known.failures + 1
            RETURNING failures",
        )
        .bind(id.as_str())
        .bind(seconds(expires_at))
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(u32::try_from(failures).unwrap_or(u32::MAX))
    }

    pub(super) async fn rows(&self, now: i64) -> Result<Rows, StorageError> {
        let mut lease = self.lease().await?;
        let (requests, payloads): (i64, i64) = sqlx::query_as(
            "SELECT
                (SELECT count(*) FROM captcha_request WHERE expires_at >= to_timestamp($1)),
                (SELECT count(*) FROM invalidated_payload WHERE expires_at >= to_timestamp($1))",
        )
        .bind(seconds(now))
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(Rows { captcha_request: requests.cast_unsigned(), invalidated_payload: payloads.cast_unsigned() })
    }

    /// Sweeps on a connection of its own, whose advisory lock ends with it: none when another host holds that.
    pub(super) async fn sweep(&self, now: i64) -> Result<Option<Swept>, StorageError> {
        let mut sweeper = Sweeper(in_time(async { Ok(self.options.connect().await?) }).await?);
        let elect =
            sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(SWEEP_LOCK).fetch_one(&mut sweeper.0);
        let elected = in_time(async { Ok(elect.await?) }).await?;
        let swept = if elected { Some(sweep::sweep(&mut sweeper, now).await?) } else { None };
        in_time(async { Ok(sweeper.0.close().await?) }).await?;
        Ok(swept)
    }

    pub(super) async fn ping(&self) -> Result<(), StorageError> {
        let mut lease = self.lease().await?;
        sqlx::query("SELECT 1").execute(&mut *lease).await?;
        lease.done();
        Ok(())
    }

    pub(super) fn pool_stats(&self) -> PoolStats {
        self.connections.stats()
    }

    pub(super) async fn close(&self) {
        self.connections.close().await;
    }
}

struct Sweeper(PgConnection);

impl Expire for Sweeper {
    type Place = String;

    async fn expired(&mut self, table: Table, now: i64) -> Result<Vec<String>, StorageError> {
        let select = format!(
            "SELECT ctid::text FROM {} WHERE expires_at < to_timestamp($1) LIMIT {SCAN}",
            table.name()
        );
        let query = sqlx::query_scalar(AssertSqlSafe(select)).bind(seconds(now)).fetch_all(&mut self.0);
        in_time(async { Ok(query.await?) }).await
    }

    async fn delete(&mut self, table: Table, places: &[String], now: i64) -> Result<u64, StorageError> {
        let delete = format!(
            "DELETE FROM {} WHERE ctid = ANY($1::text[]::tid[]) AND expires_at < to_timestamp($2)",
            table.name()
        );
        let query = sqlx::query(AssertSqlSafe(delete)).bind(places).bind(seconds(now)).execute(&mut self.0);
        in_time(async { Ok(query.await?.rows_affected()) }).await
    }
}

/// Creates missing tables, one host at a time, and checks the columns of those that exist.
async fn prepare(connection: &mut PgConnection) -> Result<(), StorageError> {
    let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(SCHEMA_LOCK).execute(&mut *transaction).await?;
    for table in Table::ALL {
        let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
            .bind(table.name())
            .fetch_one(&mut *transaction)
            .await?;
        if !exists {
            sqlx::raw_sql(table.postgres()).execute(&mut *transaction).await?;
        }
        sqlx::query(table.probe()).execute(&mut *transaction).await?;
    }
    let commit: String = sqlx::query_scalar("SHOW synchronous_commit").fetch_one(&mut *transaction).await?;
    transaction.commit().await?;
    if commit == "off" {
        tracing::warn!(
            "PostgreSQL runs with synchronous_commit = off: a crash of its machine can forget spent challenges"
        );
    }
    Ok(())
}

/// Whether the server cannot be reached, or says that it is only just starting or stopping.
fn is_away(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(error, sqlx::Error::Io(_)) || code.is_some_and(|code| code.starts_with("57P"))
}

/// Unix milliseconds as `to_timestamp` takes them.
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}
