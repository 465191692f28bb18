//! Stores the ledger in PostgreSQL, shared by any number of hosts. Its clock decides what has expired, not theirs.

mod reachability;

use super::StorageError;
use super::deadline::{ANSWER_TIMEOUT, in_time};
use super::options::LedgerOptions;
use super::outage::Outage;
use super::outage_log::OutageLog;
use super::pool::{Connections, PoolStats};
use super::records::{COUNT_CEILING, Claim, Id, Rows, Swept, Visit, Visits, Window};
use super::schema::Table;
use super::sweep::{self, Expire, SCAN};
use bulkhead_os::clock::HostClock;
use bulkhead_os::ids::ordered_id;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use std::str::FromStr;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::timeout;

/// Advisory lock of the host that creates tables: "bulkhead" in ASCII.
const SCHEMA_LOCK: i64 = 0x6275_6c6b_6865_6164;

/// Advisory lock of the host that sweeps.
const SWEEP_LOCK: i64 = SCHEMA_LOCK + 1;

/// Claims of one challenge take turns in the host before they take a connection, so that many submissions of one
/// payload hold one connection. With more locks, different challenges share one less often.
const CLAIM_LOCKS: usize = 64;

/// A host whose clock differs from the database's by more, in milliseconds, deletes nothing.
const MOST_SKEW_OF_A_SWEEPER: i64 = 60_000;

pub(super) struct Postgres {
    options: PgConnectOptions,
    connections: Connections<sqlx::Postgres>,
    claim_locks: Box<[Mutex<()>]>,
    /// Set once the tables are there.
    prepared: OnceCell<()>,
    clock: HostClock,
    /// By how much the host's clock was ahead at the last check, milliseconds.
    skew: AtomicI64,
    outage: Outage,
    /// Longest wait of a call.
    answer_timeout: Duration,
    /// Limits log lines about calls without an answer.
    outage_log: Arc<OutageLog>,
    /// A reference to itself for the probe, and the runtime that drives the connections.
    own: Weak<Self>,
    runtime: Handle,
}

impl Postgres {
    /// Connects and creates missing tables.
    pub(super) async fn open(
        url: &str,
        limits: &LedgerOptions,
        outage_log: &Arc<OutageLog>,
    ) -> Result<Arc<Self>, StorageError> {
        let postgres = Self::new(url, limits, outage_log)?;
        postgres.prepare().await?;
        Ok(postgres)
    }

    /// Opens as [`Self::open`] does, but checks the tables of an unreachable server once it can be reached.
    pub(super) async fn open_when_reached(
        url: &str,
        limits: &LedgerOptions,
        outage_log: &Arc<OutageLog>,
    ) -> Result<Arc<Self>, StorageError> {
        let postgres = Self::new(url, limits, outage_log)?;
        match timeout(ANSWER_TIMEOUT, postgres.options.connect()).await {
            Err(_) => postgres.lost(sqlx::Error::PoolTimedOut.into()),
            Ok(Err(error)) if is_away(&error) => postgres.lost(error.into()),
            Ok(Err(error)) => return Err(error.into()),
            Ok(Ok(connection)) => {
                drop(connection);
                postgres.prepare().await?;
            }
        }
        Ok(postgres)
    }

    fn new(
        url: &str,
        limits: &LedgerOptions,
        outage_log: &Arc<OutageLog>,
    ) -> Result<Arc<Self>, StorageError> {
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
        let answer_timeout = limits.answer_timeout;
        let connections =
            Connections::<sqlx::Postgres>::new(options.clone(), limits.connections, answer_timeout);
        let claim_locks = (0..CLAIM_LOCKS).map(|_| Mutex::new(())).collect();
        Ok(Arc::new_cyclic(|own| Self {
            options,
            connections,
            claim_locks,
            prepared: OnceCell::new(),
            clock: limits.clock.clone(),
            skew: AtomicI64::new(0),
            outage: Outage::default(),
            answer_timeout,
            outage_log: Arc::clone(outage_log),
            own: own.clone(),
            runtime: Handle::current(),
        }))
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

    /// Returns whether the tables were checked.
    pub(super) fn is_prepared(&self) -> bool {
        self.prepared.initialized()
    }

    pub(super) async fn visits(&self, site: &str, client: &[String]) -> Result<Visits, StorageError> {
        let mut lease = self.lease().await?;
        let (client, site): (i64, i64) = sqlx::query_as(
            "SELECT
                (SELECT count(*) FROM (
                    SELECT 1 FROM captcha_request
                    WHERE source_address_hash = ANY($1) AND expires_at >= now()
                    LIMIT $2) AS counted),
                (SELECT coalesce(sum(visits), 0)::bigint FROM bulkhead_site_visits
                    WHERE site = $3 AND expires_at >= now())",
        )
        .bind(client)
        .bind(COUNT_CEILING.cast_signed())
        .bind(site)
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(Visits { client: client.cast_unsigned(), site: site.cast_unsigned() })
    }

    /// Writes a batch with the visits' times on the database's clock, where their ages are the same as on the host's.
    pub(super) async fn write(&self, batch: &[Arc<Visit>], window: Window) -> Result<(), StorageError> {
        let ages: Vec<_> = batch.iter().map(|visit| visit.since.elapsed().as_secs_f64()).collect();
        let mut lease = self.lease().await?;
        let mut transaction = lease.begin().await?;
        let written = sqlx::query(
            "INSERT INTO captcha_request (id, request_at, source_address_hash, is_whitelisted, expires_at)
            SELECT id, now() - make_interval(secs => age), source_address_hash, is_whitelisted,
                now() + make_interval(secs => $5 - age)
            FROM unnest($1::uuid[], $2::float8[], $3::text[], $4::boolean[])
                AS visit (id, age, source_address_hash, is_whitelisted)
            ON CONFLICT (id) DO NOTHING",
        )
        .bind(batch.iter().map(|visit| visit.id).collect::<Vec<_>>())
        .bind(&ages)
        .bind(batch.iter().map(|visit| visit.client.as_str()).collect::<Vec<_>>())
        .bind(batch.iter().map(|visit| visit.allow_listed).collect::<Vec<_>>())
        .bind(seconds(window.length))
        .execute(&mut *transaction)
        .await?;
        // None written: the batch had been committed before, though its answer was lost.
        if written.rows_affected() > 0 {
            // In order, so that hosts write shared rows in the same order.
            sqlx::query(
                "INSERT INTO bulkhead_site_visits AS known (site, expires_at, visits)
                SELECT site,
                    to_timestamp((floor((extract(epoch FROM now())::float8 - age) / $3) + 1) * $3 + $4) AS until,
                    count(*)
                FROM unnest($1::text[], $2::float8[]) AS visit (site, age)
                GROUP BY site, until ORDER BY site, until
                ON CONFLICT (site, expires_at) DO UPDATE SET visits = known.visits + excluded.visits",
            )
            .bind(batch.iter().map(|visit| visit.site.as_str()).collect::<Vec<_>>())
            .bind(&ages)
            .bind(seconds(window.bucket))
            .bind(seconds(window.length))
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        lease.done();
        Ok(())
    }

    pub(super) async fn spent(&self, id: &Id) -> Result<u32, StorageError> {
        let mut lease = self.lease().await?;
        let spent: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM invalidated_payload WHERE payload_hash = $1 AND expires_at >= now()",
        )
        .bind(id.as_str())
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(u32::try_from(spent).unwrap_or(u32::MAX))
    }

    /// Claims spends. It takes the challenge's lock in a separate statement: under `READ COMMITTED` the next statement
    /// then sees what the lock's last holder committed. A claim whose rows a sweep may delete writes none, because it
    /// reads the time after the lock was taken, and not before the rows.
    pub(super) async fn claim(&self, claim: &Claim) -> Result<u64, StorageError> {
        let key = claim.id.lock_key();
        let turn = usize::try_from(key.cast_unsigned() % CLAIM_LOCKS as u64)
            .ok()
            .and_then(|index| self.claim_locks.get(index));
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
            WHERE to_timestamp($3) >= clock_timestamp()
            LIMIT greatest(0, $4 - (SELECT count(*) FROM invalidated_payload
                WHERE payload_hash = $2 AND expires_at >= statement_timestamp()))",
        )
        .bind((0..claim.spends).map(|_| ordered_id()).collect::<Vec<_>>())
        .bind(claim.id.as_str())
        .bind(seconds(claim.expires_at))
        .bind(i64::from(claim.limit))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        lease.done();
        Ok(written.rows_affected())
    }

    pub(super) async fn fail(&self, id: &Id, expires_at: i64) -> Result<u32, StorageError> {
        let mut lease = self.lease().await?;
        let failures = count_failure(&mut lease, id, expires_at).await?;
        lease.done();
        Ok(u32::try_from(failures).unwrap_or(u32::MAX))
    }

    pub(super) async fn rows(&self) -> Result<Rows, StorageError> {
        let mut lease = self.lease().await?;
        let (requests, payloads): (i64, i64) = sqlx::query_as(
            "SELECT
                (SELECT count(*) FROM captcha_request WHERE expires_at >= now()),
                (SELECT count(*) FROM invalidated_payload WHERE expires_at >= now())",
        )
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(Rows { captcha_request: requests.cast_unsigned(), invalidated_payload: payloads.cast_unsigned() })
    }

    /// Sweeps on a connection of its own, whose advisory lock ends with it: none when another host holds that, and none
    /// when the clocks differ so much that something is wrong with one of them.
    pub(super) async fn sweep(&self) -> Result<Option<Swept>, StorageError> {
        let mut sweeper = Sweeper(in_time(async { Ok(self.options.connect().await?) }).await?);
        let elect =
            sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(SWEEP_LOCK).fetch_one(&mut sweeper.0);
        let elected = in_time(async { Ok(elect.await?) }).await?;
        let skew = in_time(self.look_at_clock(&mut sweeper.0)).await?;
        let swept = match elected && skew.abs() <= MOST_SKEW_OF_A_SWEEPER {
            true => Some(sweep::sweep(&mut sweeper).await?),
            false => None,
        };
        in_time(async { Ok(sweeper.0.close().await?) }).await?;
        Ok(swept)
    }

    pub(super) fn pool_stats(&self) -> PoolStats {
        self.connections.stats()
    }

    pub(super) async fn close(&self) {
        self.outage.close();
        self.connections.close().await;
    }
}

struct Sweeper(PgConnection);

impl Expire for Sweeper {
    type RowId = String;

    async fn expired(&mut self, table: Table) -> Result<Vec<String>, StorageError> {
        let select = format!("SELECT ctid::text FROM {} WHERE expires_at < now() LIMIT {SCAN}", table.name());
        let query = sqlx::query_scalar(AssertSqlSafe(select)).fetch_all(&mut self.0);
        in_time(async { Ok(query.await?) }).await
    }

    async fn delete(&mut self, table: Table, row_ids: &[String]) -> Result<u64, StorageError> {
        let delete = format!(
            "DELETE FROM {} WHERE ctid = ANY($1::text[]::tid[]) AND expires_at < now()",
            table.name()
        );
        let query = sqlx::query(AssertSqlSafe(delete)).bind(row_ids).execute(&mut self.0);
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

/// Counts a failure and returns the number including it.
async fn count_failure(connection: &mut PgConnection, id: &Id, expires_at: i64) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "INSERT INTO bulkhead_failure AS known (payload_hash, failures, expires_at)
        VALUES ($1, 1, to_timestamp($2))
        ON CONFLICT (payload_hash) DO UPDATE SET failures = known.failures + 1
        RETURNING failures",
    )
    .bind(id.as_str())
    .bind(seconds(expires_at))
    .fetch_one(connection)
    .await
}

/// Returns whether the server cannot be reached, or reports that it is starting or stopping.
fn is_away(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(error, sqlx::Error::Io(_)) || code.is_some_and(|code| code.starts_with("57P"))
}

/// Converts Unix milliseconds for `to_timestamp`.
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}
