//! Runs the only writer: writes that arrive while a transaction is being committed share the next one, as do those of
//! calls that are ready to run, and none is answered before its transaction is on the disk (`synchronous = FULL`).

use super::claims::ClaimBatch;
use crate::StorageError;
use crate::records::{Claim, Id, Visit, by_site};
use crate::schema::Table;
use bulkhead_os::ids::ordered_id;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, QueryBuilder};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, yield_now};

/// Writes that may wait; more wait outside, within their own deadline.
const QUEUE: usize = 1024;

/// Writes that share a transaction: more save no time and make the first of them wait.
const GROUP: usize = 256;

/// How often the writer lets others run before a transaction: more rounds make larger groups, and the first write waits.
const ROUNDS: usize = 4;

/// One write; its answer is a number.
pub(super) enum Work {
    /// Spends; rows written.
    Claim(Claim),
    /// A failure; how many there have been.
    Fail { id: Id, expires_at: i64 },
    /// Visits; rows written.
    Visits(Vec<Arc<Visit>>),
    /// A sweep at `now` begins.
    Mark { now: i64 },
    /// The rows of `table` at `row_ids` that expired before `now`; rows deleted.
    Delete { table: Table, row_ids: Vec<i64>, now: i64 },
}

impl Work {
    fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Claim(claim) => Some(claim),
            Self::Fail { .. } | Self::Visits(_) | Self::Mark { .. } | Self::Delete { .. } => None,
        }
    }
}

struct Job {
    work: Work,
    answer: oneshot::Sender<Result<u64, StorageError>>,
}

pub(super) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the writer's task on `connection`; a broken one is opened again with `options`.
    pub(super) fn start(options: SqliteConnectOptions, connection: SqliteConnection) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let task = tokio::spawn(serve(queue, options, Some(connection)));
        Self { jobs: Mutex::new(Some(jobs)), task: Mutex::new(Some(task)) }
    }

    /// Runs a write and returns its answer once it is durable.
    pub(super) async fn run(&self, work: Work) -> Result<u64, StorageError> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (answer, answered) = oneshot::channel();
        let jobs = jobs.ok_or_else(StorageError::closed)?;
        jobs.send(Job { work, answer }).await.map_err(|_| StorageError::closed())?;
        answered.await.map_err(|_| StorageError::closed())?
    }

    /// Waits for what has been sent, then closes the database.
    pub(super) async fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the ledger's writer failed");
        }
    }
}

async fn serve(
    mut queue: mpsc::Receiver<Job>,
    options: SqliteConnectOptions,
    mut connection: Option<SqliteConnection>,
) {
    let mut group = Vec::with_capacity(GROUP);
    while queue.recv_many(&mut group, GROUP).await > 0 {
        gather(&mut queue, &mut group).await;
        let written = match connection.take() {
            Some(open) => write(open, &group).await,
            None => match options.connect().await {
                Ok(open) => write(open, &group).await,
                Err(error) => Err(error),
            },
        };
        match written {
            Ok((open, answers)) => {
                connection = Some(open);
                for (job, answer) in group.drain(..).zip(answers) {
                    // A caller that left needs no answer.
                    let _ = job.answer.send(Ok(answer));
                }
            }
            Err(error) => {
                let error = StorageError::from(error);
                for job in group.drain(..) {
                    let _ = job.answer.send(Err(error.clone()));
                }
            }
        }
    }
    if let Some(open) = connection
        && let Err(error) = open.close().await
    {
        tracing::warn!(%error, "the ledger's database did not close cleanly");
    }
}

/// Lets what is ready to run go first, as long as that adds writes to the group. A transaction costs more processor time
/// than the call that asks for it, so that a busy host saves time by it; an idle one has nothing else to run.
async fn gather(queue: &mut mpsc::Receiver<Job>, group: &mut Vec<Job>) {
    for _ in 0..ROUNDS {
        let before = group.len();
        yield_now().await;
        while group.len() < GROUP
            && let Ok(job) = queue.try_recv()
        {
            group.push(job);
        }
        if group.len() == before {
            return;
        }
    }
}

/// Writes a group in one transaction and gives the connection back if that worked. One statement is a transaction
/// already.
async fn write(
    mut connection: SqliteConnection,
    group: &[Job],
) -> Result<(SqliteConnection, Vec<u64>), sqlx::Error> {
    let mut answers = vec![0; group.len()];
    let claims = ClaimBatch::of(group.iter().map(|job| job.work.claim()));
    if claims.len() == group.len() {
        spend_all(&claims, &mut connection, &mut answers).await?;
        return Ok((connection, answers));
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    spend_all(&claims, &mut transaction, &mut answers).await?;
    for (place, (job, answer)) in group.iter().zip(&mut answers).enumerate() {
        if !claims.holds(place) {
            *answer = apply(&job.work, &mut transaction).await?;
        }
    }
    transaction.commit().await?;
    Ok((connection, answers))
}

async fn spend_all(
    claims: &ClaimBatch<'_>,
    connection: &mut SqliteConnection,
    answers: &mut [u64],
) -> Result<(), sqlx::Error> {
    if claims.len() == 0 {
        return Ok(());
    }
    let Some((place, claim)) = claims.single() else { return claims.spend(connection, answers).await };
    if let Some(answer) = answers.get_mut(place) {
        *answer = spend(claim, connection).await?;
    }
    Ok(())
}

async fn apply(work: &Work, connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    match work {
        Work::Claim(claim) => spend(claim, connection).await,
        Work::Fail { id, expires_at } => fail(id, *expires_at, connection).await,
        Work::Visits(visits) => record(visits, connection).await,
        Work::Mark { now } => mark(*now, connection).await,
        Work::Delete { table, row_ids, now } => delete(*table, row_ids, *now, connection).await,
    }
}

async fn spend(claim: &Claim, connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let written = sqlx::query(
        "INSERT INTO invalidated_payload (id, payload_hash, expires_at)
        WITH RECURSIVE spend(place) AS (
            SELECT 1 + count(*) FROM invalidated_payload
            WHERE unhex(payload_hash) = unhex(?1) AND expires_at >= ?2
            UNION ALL SELECT place + 1 FROM spend WHERE place < ?3)
        SELECT CASE ?5 WHEN 1 THEN ?7 ELSE randomblob(16) END, ?1, ?4 FROM spend
        WHERE place <= ?3 AND (?6 OR NOT EXISTS (SELECT 1 FROM bulkhead_sweep WHERE swept_to > ?4))
        LIMIT ?5",
    )
    .bind(claim.id.as_str())
    .bind(claim.now)
    .bind(claim.limit)
    .bind(claim.expires_at)
    .bind(claim.spends)
    .bind(claim.issued_here)
    .bind(ordered_id())
    .execute(connection)
    .await?;
    Ok(written.rows_affected())
}

async fn fail(id: &Id, expires_at: i64, connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let failures: i64 = sqlx::query_scalar(
        "INSERT INTO bulkhead_failure (payload_hash, failures, expires_at) VALUES (?, 1, ?)
        ON CONFLICT (payload_hash) DO UPDATE SET failures = failures + 1
        RETURNING failures",
    )
    .bind(id.as_str())
    .bind(expires_at)
    .fetch_one(connection)
    .await?;
    Ok(failures.cast_unsigned())
}

async fn record(visits: &[Arc<Visit>], connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    if visits.is_empty() {
        return Ok(0);
    }
    let mut insert = QueryBuilder::new(
        "INSERT INTO captcha_request (id, request_at, source_address_hash, is_whitelisted, expires_at) ",
    );
    insert.push_values(visits, |mut row, visit| {
        row.push_bind(visit.id)
            .push_bind(visit.at)
            .push_bind(&visit.client)
            .push_bind(visit.allow_listed)
            .push_bind(visit.expires_at);
    });
    insert.push(" ON CONFLICT (id) DO NOTHING");
    let written = insert.build().persistent(false).execute(&mut *connection).await?.rows_affected();
    if written == 0 {
        // The batch had been committed before, though its answer was lost.
        return Ok(0);
    }
    for ((site, bucket), count) in by_site(visits) {
        sqlx::query(
            "INSERT INTO bulkhead_site_visits (site, expires_at, visits) VALUES (?, ?, ?)
            ON CONFLICT (site, expires_at) DO UPDATE SET visits = visits + excluded.visits",
        )
        .bind(site)
        .bind(bucket)
        .bind(count)
        .execute(&mut *connection)
        .await?;
    }
    Ok(written)
}

/// Writes that rows which expired before `now` may be missing.
pub(super) async fn mark(now: i64, connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let marked = sqlx::query(
        "INSERT INTO bulkhead_sweep (only, swept_to) VALUES (1, ?)
        ON CONFLICT (only) DO UPDATE SET swept_to = max(swept_to, excluded.swept_to)",
    )
    .bind(now)
    .execute(connection)
    .await?;
    Ok(marked.rows_affected())
}

async fn delete(
    table: Table,
    row_ids: &[i64],
    now: i64,
    connection: &mut SqliteConnection,
) -> Result<u64, sqlx::Error> {
    let row_ids: Vec<String> = row_ids.iter().map(i64::to_string).collect();
    let delete = format!(
        "DELETE FROM {} WHERE rowid IN (SELECT value FROM json_each(?)) AND expires_at < ?",
        table.name()
    );
    let deleted = sqlx::query(AssertSqlSafe(delete))
        .bind(format!("[{}]", row_ids.join(",")))
        .bind(now)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn job() -> Job {
        Job { work: Work::Mark { now: 0 }, answer: oneshot::channel().0 }
    }

    #[tokio::test]
    async fn writes_of_ready_calls_share_a_group() {
        let (jobs, mut queue) = mpsc::channel(QUEUE);
        for _ in 0..16 {
            let jobs = jobs.clone();
            tokio::spawn(async move { jobs.send(job()).await });
        }
        let mut group = vec![job()];
        gather(&mut queue, &mut group).await;
        assert_eq!(group.len(), 17);
        jobs.send(job()).await.unwrap();
        drop(jobs);
        gather(&mut queue, &mut group).await;
        assert_eq!(group.len(), 18, "the rest of a closed queue is written too");
    }

    #[tokio::test]
    async fn endless_writes_do_not_delay_a_group() {
        let (jobs, mut queue) = mpsc::channel(QUEUE);
        let endless = tokio::spawn(async move {
            while jobs.send(job()).await.is_ok() {
                yield_now().await;
            }
        });
        let mut group = vec![job()];
        gather(&mut queue, &mut group).await;
        assert!((2..=1 + 2 * ROUNDS).contains(&group.len()), "{}", group.len());
        endless.abort();
    }

    #[tokio::test]
    async fn full_group_is_written_at_once() {
        let (jobs, mut queue) = mpsc::channel(QUEUE);
        for _ in 0..GROUP {
            jobs.send(job()).await.unwrap();
        }
        let mut group = vec![job()];
        gather(&mut queue, &mut group).await;
        assert_eq!((group.len(), queue.len()), (GROUP, 1));
    }
}
