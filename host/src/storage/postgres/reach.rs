//! Reaching the server: connections, the probe that looks for one that is away, and what its clock shows.

use super::Postgres;
use crate::storage::StorageError;
use crate::storage::pool::Lease;
use crate::storage::store::{within, within_or};
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
    pub(in crate::storage) fn in_time<T>(
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
    pub(in crate::storage) async fn ping(&self) -> Result<(), StorageError> {
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

    /// What the last look at the clock found, milliseconds.
    pub(in crate::storage) fn skew(&self) -> i64 {
        self.skew.load(Relaxed)
    }
}

/// Tries to reach a server that is away, one attempt at a time, until it answers or the ledger is closed.
async fn probe(postgres: Weak<Postgres>) {
    loop {
        tokio::time::sleep(PROBE_EVERY).await;
        let Some(postgres) = postgres.upgrade() else { return };
        let reached = within(postgres.answer_timeout, async {
            let mut lease = postgres.reach().await?;
            postgres.look_at_clock(&mut lease).await?;
            lease.done();
            Ok(())
        });
        match reached.await {
            Ok(()) => {
                postgres.away.end();
                tracing::info!("the ledger's PostgreSQL answers again");
                return;
            }
            Err(error) => tracing::debug!(%error, "PostgreSQL is still away"),
        }
    }
}
