//! Reaching the server: connections, the probe that looks for one that is away, and what its clock shows.

use super::{Postgres, count_failure};
use crate::StorageError;
use crate::pool::Lease;
use crate::records;
use crate::schema::Table;
use crate::store::{within, within_or};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;
use std::future::Future;
use std::sync::Weak;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Pause between two attempts to reach a server that is away: one attempt at a time costs it little.
const PROBE_EVERY: Duration = Duration::from_millis(500);

impl Postgres {
    /// A connection to a database that has the tables. Refused at once while the server is away, also to
    /// those who wait for one when that is noticed.
    pub(super) async fn lease(&self) -> Result<Lease<sqlx::Postgres>, StorageError> {
        self.away.check()?;
        let lease = tokio::select! {
            lease = self.reach() => lease,
            fault = self.away.begun() => return Err(fault),
        };
        lease.inspect_err(|fault| {
            // All connections in use say nothing about the server.
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

    /// Waits as long as any caller may; an answer that does not come in time means that the server is away.
    pub(crate) fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, StorageError>>,
    ) -> impl Future<Output = Result<T, StorageError>> {
        within_or(self.answer_timeout, answer, |fault| self.lost(fault))
    }

    /// Has calls refused until a probe reaches the server.
    pub(super) fn lost(&self, fault: StorageError) {
        let reason = fault.to_string();
        if self.away.begin(fault) {
            self.reminder.said(Instant::now());
            tracing::error!(
                reason,
                "the ledger's PostgreSQL does not answer; until it does, captcha.on_ledger_failure decides what comes of \
                 calls, which do not wait for it; check captcha.database"
            );
            self.away.probed_by(self.home.spawn(probe(self.own.clone())).abort_handle());
        }
    }

    /// Whether the server answers; looks at its clock.
    pub(crate) async fn ping(&self) -> Result<(), StorageError> {
        let mut lease = self.lease().await?;
        self.look_at_clock(&mut lease).await?;
        lease.done();
        Ok(())
    }

    /// By how many milliseconds the host's clock is ahead of the server's, at least: what the way there and back may
    /// account for is left out.
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

    /// Tries what calls do: a server may answer those who read and let those who write wait, for a lock or for a
    /// standby. It works on at what it was asked after the host has given up: while it does, it is asked for no further
    /// write, or each attempt would leave one more process behind. `unfinished` is the process of such an attempt.
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
        // It stays set where the attempt is given up before.
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

    /// What the last look at the clock found, milliseconds.
    pub(crate) fn skew(&self) -> i64 {
        self.skew.load(Relaxed)
    }
}

/// The server's process behind a connection, by a name that no other one has.
async fn process_of(connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT format('%s@%s', pid, extract(epoch FROM backend_start)) FROM pg_stat_activity
        WHERE pid = pg_backend_pid()",
    )
    .fetch_optional(connection)
    .await
}

/// Whether that process is still about what it was asked.
async fn is_at_work(connection: &mut PgConnection, process: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_stat_activity
            WHERE state = 'active' AND format('%s@%s', pid, extract(epoch FROM backend_start)) = $1)",
    )
    .bind(process)
    .fetch_one(connection)
    .await
}

/// A refusal is an answer, for instance by a database that is read-only: calls are told it as soon. That of a statement
/// which has waited too long (55P03, class 57) or met another (class 40) is none.
fn answered<T>(written: Result<T, sqlx::Error>) -> Result<(), sqlx::Error> {
    let Err(error) = written else { return Ok(()) };
    let code = error.as_database_error().and_then(|error| error.code());
    let is_answer =
        code.is_some_and(|code| code != "55P03" && !["57", "40"].iter().any(|class| code.starts_with(class)));
    if is_answer { Ok(()) } else { Err(error) }
}

/// Tries to reach a server that is away, one attempt at a time, until it answers or the ledger is closed.
async fn probe(postgres: Weak<Postgres>) {
    let mut unfinished = None;
    loop {
        tokio::time::sleep(PROBE_EVERY).await;
        let Some(postgres) = postgres.upgrade() else { return };
        match within(postgres.answer_timeout, postgres.attempt(&mut unfinished)).await {
            Ok(()) => {
                postgres.away.end();
                tracing::info!("the ledger's PostgreSQL answers again");
                return;
            }
            Err(error) => tracing::debug!(%error, "PostgreSQL is still away"),
        }
    }
}
