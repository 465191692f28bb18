//! Leases connections, probes an unreachable server, and compares its clock with the host's.

use super::{Postgres, count_failure};
use crate::StorageError;
use crate::deadline::{within, within_or};
use crate::pool::Lease;
use crate::records;
use crate::schema::Table;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;
use std::future::Future;
use std::sync::Weak;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Pause between two attempts to reach an unreachable server; one attempt at a time costs it little.
const PROBE_EVERY: Duration = Duration::from_millis(500);

impl Postgres {
    /// Returns a connection to a database that has the tables. During an outage it is refused at once, also to waiting
    /// callers.
    pub(super) async fn lease(&self) -> Result<Lease<sqlx::Postgres>, StorageError> {
        self.outage.check()?;
        let lease = tokio::select! {
            lease = self.reach() => lease,
            fault = self.outage.wait() => return Err(fault),
        };
        lease.inspect_err(|fault| {
            // A full pool says nothing about the server.
            if !self.connections.are_all_in_use() {
                self.lost(fault.clone());
            }
        })
    }

    async fn reach(&self) -> Result<Lease<sqlx::Postgres>, StorageError> {
        if !self.is_prepared() {
            self.prepare().await?;
        }
        self.connections.acquire().await
    }

    /// Waits as long as a call may; a missing answer means that the server is unreachable.
    pub(crate) fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, StorageError>>,
    ) -> impl Future<Output = Result<T, StorageError>> {
        within_or(self.answer_timeout, answer, |fault| self.lost(fault))
    }

    /// Begins an outage: calls are refused until a probe reaches the server.
    pub(super) fn lost(&self, fault: StorageError) {
        let reason = fault.to_string();
        if self.outage.begin(fault) {
            self.outage_log.mark_logged(Instant::now());
            tracing::error!(
                reason,
                "the ledger's PostgreSQL does not answer; until it does, captcha.on_ledger_failure decides what comes of \
                 calls, which do not wait for it; check captcha.database"
            );
            self.outage.set_probe(self.runtime.spawn(probe(self.own.clone())).abort_handle());
        }
    }

    /// Checks that the server answers, and compares its clock.
    pub(crate) async fn ping(&self) -> Result<(), StorageError> {
        let mut lease = self.lease().await?;
        self.look_at_clock(&mut lease).await?;
        lease.done();
        Ok(())
    }

    /// Returns by how many milliseconds the host's clock is ahead of the server's at least, not counting the round
    /// trip.
    pub(super) async fn look_at_clock(&self, connection: &mut PgConnection) -> Result<i64, StorageError> {
        let before = self.clock.millis();
        let theirs: f64 = sqlx::query_scalar("SELECT extract(epoch FROM clock_timestamp())::float8 * 1000")
            .fetch_one(connection)
            .await?;
        let (theirs, after) = (theirs as i64, self.clock.millis());
        let skew = if theirs < before { before - theirs } else { (after - theirs).min(0) };
        self.skew.store(skew, Relaxed);
        Ok(skew)
    }

    /// Tries to read and write as calls do: a server may answer reads while writes wait for a lock or a standby. The
    /// server continues a write after the host has given up. During that time no further write is sent, because each
    /// attempt would leave one more server process. `unfinished` is the process of such an attempt.
    async fn attempt(&self, unfinished: &mut Option<String>) -> Result<(), StorageError> {
        let mut lease = self.reach().await?;
        self.look_at_clock(&mut lease).await?;
        if let Some(process) = unfinished.as_deref()
            && is_at_work(&mut lease, process).await?
        {
            lease.done();
            return Err(StorageError::Unavailable("an earlier attempt to write still waits".into()));
        }
        *unfinished = process_of(&mut lease).await?;
        let written = self.try_to_write(&mut lease).await;
        // It stays set if the attempt is cancelled before.
        *unfinished = None;
        written?;
        lease.done();
        Ok(())
    }

    /// Commits a row, which a lost standby holds up, and touches every table.
    async fn try_to_write(&self, connection: &mut PgConnection) -> Result<(), StorageError> {
        let (id, expires_at) = records::probe(self.clock.millis());
        answered(count_failure(connection, &id, expires_at).await)?;
        for table in Table::ALL {
            answered(sqlx::query(AssertSqlSafe(table.touch())).execute(&mut *connection).await)?;
        }
        Ok(())
    }

    /// Returns the skew of the last check of the clock, milliseconds.
    pub(crate) fn skew(&self) -> i64 {
        self.skew.load(Relaxed)
    }
}

/// Returns a unique name of the server's process behind a connection.
async fn process_of(connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT format('%s@%s', pid, extract(epoch FROM backend_start)) FROM pg_stat_activity
        WHERE pid = pg_backend_pid()",
    )
    .fetch_optional(connection)
    .await
}

/// Returns whether that process still runs its statement.
async fn is_at_work(connection: &mut PgConnection, process: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_stat_activity
            WHERE state = 'active' AND format('%s@%s', pid, extract(epoch FROM backend_start)) = $1)",
    )
    .bind(process)
    .fetch_one(connection)
    .await
}

/// Counts a refusal as an answer, for instance of a read-only database, because calls get it as fast. Does not count
/// one of a statement that waited too long (55P03, class 57) or conflicted with another (class 40).
fn answered<T>(written: Result<T, sqlx::Error>) -> Result<(), sqlx::Error> {
    let Err(error) = written else { return Ok(()) };
    let code = error.as_database_error().and_then(|error| error.code());
    let is_answer =
        code.is_some_and(|code| code != "55P03" && !["57", "40"].iter().any(|class| code.starts_with(class)));
    if is_answer { Ok(()) } else { Err(error) }
}

/// Tries to reach an unreachable server, one attempt at a time, until it answers or the ledger is closed.
async fn probe(postgres: Weak<Postgres>) {
    let mut unfinished = None;
    loop {
        tokio::time::sleep(PROBE_EVERY).await;
        let Some(postgres) = postgres.upgrade() else { return };
        match within(postgres.answer_timeout, postgres.attempt(&mut unfinished)).await {
            Ok(()) => {
                postgres.outage.end();
                tracing::info!("the ledger's PostgreSQL answers again");
                return;
            }
            Err(error) => tracing::debug!(%error, "PostgreSQL is still unreachable"),
        }
    }
}
