//! Stores the ledger in SQLite: readers from a pool, all writes through one group-committing writer, write-ahead log.
//!
//! A damaged file is set aside. The new one does not have the spends of the old one, so that no challenge that was issued
//! before is granted.

mod claims;
mod writer;

use super::StorageError;
use super::deadline::{in_time, within};
use super::high_water::HighWater;
use super::options::LedgerOptions;
use super::pool::{Connections, PoolStats, acquire_timeout};
use super::records::{self, COUNT_CEILING, Claim, Id, Rows, SKEW, Swept, Visit, VisitRows, Visits, Window};
use super::schema::{SQLITE_SWEEP, Table};
use super::sweep::{self, Expire, SCAN};
use bulkhead_database::sqlite::{connect, is_disk_fault, set_damaged_aside};
use bulkhead_os::files;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tokio::sync::OnceCell;
use writer::{Work, Writer, mark};

pub(super) struct Sqlite {
    path: PathBuf,
    limits: LedgerOptions,
    /// Empty while the disk takes nothing.
    file: OnceCell<LedgerFile>,
    high_water: HighWater,
}

/// The open file.
struct LedgerFile {
    readers: Connections<sqlx::Sqlite>,
    writer: Writer,
}

impl Sqlite {
    /// Names the file, which the first call opens.
    pub(super) fn new(path: &Path, limits: &LedgerOptions) -> Self {
        let (file, high_water) = (OnceCell::new(), HighWater::default());
        Self { path: path.to_owned(), limits: limits.clone(), file, high_water }
    }

    /// Opens or creates the database at `path`, readable by its owner only when created.
    pub(super) async fn open(path: &Path, limits: &LedgerOptions) -> Result<Self, StorageError> {
        let sqlite = Self::new(path, limits);
        sqlite.file().await?;
        Ok(sqlite)
    }

    /// Opens the database as [`Sqlite::open`] does. Where the disk takes nothing, each call tries again.
    pub(super) async fn open_when_writable(
        path: &Path,
        limits: &LedgerOptions,
    ) -> Result<Self, StorageError> {
        let sqlite = Self::new(path, limits);
        match sqlite.open_file().await {
            Ok(file) => sqlite.file.set(file).map_err(|_| StorageError::closed())?,
            Err(error) if is_disk_fault(&error, path) => {
                tracing::error!(file = %path.display(), %error, "the ledger cannot be opened; calls try again");
            }
            Err(error) => return Err(sqlite.named(&error)),
        }
        Ok(sqlite)
    }

    async fn file(&self) -> Result<&LedgerFile, StorageError> {
        let opened = self.file.get_or_try_init(|| self.open_file()).await;
        opened.map_err(|error| self.named(&error))
    }

    fn named(&self, error: &sqlx::Error) -> StorageError {
        let reason = match error {
            // Without sqlx's own words, which speak of communication.
            sqlx::Error::Io(error) => error.to_string(),
            error => error.to_string(),
        };
        StorageError::Unavailable(format!("cannot open {}: {reason}", self.path.display()))
    }

    async fn open_file(&self) -> Result<LedgerFile, sqlx::Error> {
        let &LedgerOptions { connections, answer_timeout, challenge_life, .. } = &self.limits;
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(acquire_timeout(answer_timeout))
            .disable_statement_logging();
        let lost_until = set_damaged_aside(&options, &self.limits.damaged_files).await?;
        files::create(&self.path)?;
        let mut connection = connect(&options).await?;
        // The result of a verification, which is spent too, is issued until the challenge has expired.
        let life = SKEW.saturating_add(challenge_life.saturating_mul(2));
        let lost_to = lost_until.map(|written| {
            // The clock may be behind that of the rows: a machine without a battery starts in 1970.
            let written = written.duration_since(UNIX_EPOCH).unwrap_or_default();
            records::millis(written.max(self.limits.clock.unix()).saturating_add(life))
        });
        self.high_water.raise(prepare(&mut connection, lost_to).await?);
        let read_only = options.clone().pragma("query_only", "on");
        let readers = Connections::new(read_only, connections, answer_timeout);
        Ok(LedgerFile { readers, writer: Writer::start(options, connection) })
    }

    /// Returns whether the file is open.
    pub(super) fn is_open(&self) -> bool {
        self.file.initialized()
    }

    /// Returns why the file's disk takes nothing, if it does not.
    pub(super) fn disk_fault(&self) -> Option<&'static str> {
        files::disk_fault(self.path.parent()?)
    }

    /// Waits as long as a call may.
    pub(super) fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, StorageError>>,
    ) -> impl Future<Output = Result<T, StorageError>> {
        within(self.limits.answer_timeout, answer)
    }

    pub(super) fn high_water(&self) -> &HighWater {
        &self.high_water
    }

    pub(super) async fn visits(
        &self,
        site: &str,
        client: &[String],
        now: i64,
        window: Window,
    ) -> Result<Visits, StorageError> {
        let mut lease = self.file().await?.readers.acquire().await?;
        let (client, site): (i64, i64) = sqlx::query_as(
            "SELECT
                (SELECT count(*) FROM (
                    SELECT 1 FROM captcha_request
                    WHERE substr(source_address_hash, 1, 16) IN (SELECT substr(value, 1, 16) FROM json_each(?1))
                        AND source_address_hash IN (SELECT value FROM json_each(?1)) AND expires_at BETWEEN ?2 AND ?5
                    LIMIT ?3)),
                (SELECT coalesce(sum(visits), 0) FROM bulkhead_site_visits
                    WHERE site = ?4 AND expires_at BETWEEN ?2 AND ?5)",
        )
        .bind(json_of(client))
        .bind(now)
        .bind(COUNT_CEILING.cast_signed())
        .bind(site)
        .bind(window.end(now))
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(Visits { client: client.cast_unsigned(), site: site.cast_unsigned() })
    }

    pub(super) async fn visit_rows(
        &self,
        site: &str,
        client: &[String],
        now: i64,
        window: Window,
    ) -> Result<VisitRows, StorageError> {
        let mut lease = self.file().await?.readers.acquire().await?;
        let clients = sqlx::query_as(
            "SELECT source_address_hash, expires_at FROM captcha_request
            WHERE substr(source_address_hash, 1, 16) IN (SELECT substr(value, 1, 16) FROM json_each(?1))
                AND source_address_hash IN (SELECT value FROM json_each(?1)) AND expires_at BETWEEN ?2 AND ?3
            ORDER BY expires_at DESC LIMIT ?4",
        )
        .bind(json_of(client))
        .bind(now)
        .bind(window.end(now))
        .bind(COUNT_CEILING.cast_signed())
        .fetch_all(&mut *lease)
        .await?;
        let sites = sqlx::query_as(
            "SELECT site, expires_at, visits FROM bulkhead_site_visits
            WHERE site = ?1 AND expires_at BETWEEN ?2 AND ?3",
        )
        .bind(site)
        .bind(now)
        .bind(window.end(now))
        .fetch_all(&mut *lease)
        .await?;
        lease.done();
        Ok(VisitRows { clients, sites })
    }

    pub(super) async fn all_visit_rows(
        &self,
        now: i64,
        window: Window,
        most: usize,
    ) -> Result<VisitRows, StorageError> {
        let mut lease = self.file().await?.readers.acquire().await?;
        let clients = sqlx::query_as(
            "SELECT source_address_hash, expires_at FROM captcha_request
            WHERE expires_at BETWEEN ?1 AND ?2 LIMIT ?3",
        )
        .bind(now)
        .bind(window.end(now))
        .bind(i64::try_from(most).unwrap_or(i64::MAX))
        .fetch_all(&mut *lease)
        .await?;
        let sites = sqlx::query_as(
            "SELECT site, expires_at, visits FROM bulkhead_site_visits WHERE expires_at BETWEEN ?1 AND ?2",
        )
        .bind(now)
        .bind(window.end(now))
        .fetch_all(&mut *lease)
        .await?;
        lease.done();
        Ok(VisitRows { clients, sites })
    }

    async fn run(&self, work: Work) -> Result<u64, StorageError> {
        self.file().await?.writer.run(work).await
    }

    pub(super) async fn write(&self, batch: &[Arc<Visit>]) -> Result<(), StorageError> {
        self.run(Work::Visits(batch.to_vec())).await.map(drop)
    }

    pub(super) async fn spent(&self, id: &Id, now: i64) -> Result<u32, StorageError> {
        let mut lease = self.file().await?.readers.acquire().await?;
        let spent: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM invalidated_payload
            WHERE unhex(payload_hash) = unhex(?) AND expires_at >= ?",
        )
        .bind(id.as_str())
        .bind(now)
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(u32::try_from(spent).unwrap_or(u32::MAX))
    }

    pub(super) async fn claim(&self, claim: Claim) -> Result<u64, StorageError> {
        if claim.is_late() {
            return Ok(0);
        }
        self.run(Work::Claim(claim)).await
    }

    pub(super) async fn fail(&self, id: &Id, expires_at: i64) -> Result<u32, StorageError> {
        let failures = self.run(Work::Fail { id: id.clone(), expires_at }).await?;
        Ok(u32::try_from(failures).unwrap_or(u32::MAX))
    }

    pub(super) async fn rows(&self, now: i64) -> Result<Rows, StorageError> {
        let mut lease = self.file().await?.readers.acquire().await?;
        let (requests, payloads): (i64, i64) = sqlx::query_as(
            "SELECT
                (SELECT count(*) FROM captcha_request WHERE expires_at >= ?1),
                (SELECT count(*) FROM invalidated_payload WHERE expires_at >= ?1)",
        )
        .bind(now)
        .fetch_one(&mut *lease)
        .await?;
        lease.done();
        Ok(Rows { captcha_request: requests.cast_unsigned(), invalidated_payload: payloads.cast_unsigned() })
    }

    /// Writes the mark first: what is deleted below it cannot be granted again, not even after a restart.
    pub(super) async fn sweep(&self, now: i64) -> Result<Swept, StorageError> {
        in_time(self.run(Work::Mark { now })).await?;
        self.high_water.raise(now);
        sweep::sweep(&mut Sweeper { sqlite: self, now }).await
    }

    /// Checks that a reader and the writer answer.
    pub(super) async fn ping(&self) -> Result<(), StorageError> {
        let mut lease = self.file().await?.readers.acquire().await?;
        sqlx::query("SELECT 1").execute(&mut *lease).await?;
        lease.done();
        self.run(Work::Visits(Vec::new())).await.map(drop)
    }

    pub(super) fn pool_stats(&self) -> PoolStats {
        self.file.get().map(|file| file.readers.stats()).unwrap_or_default()
    }

    pub(super) async fn close(&self) {
        if let Some(file) = self.file.get() {
            file.readers.close().await;
            file.writer.close().await;
        }
    }
}

/// A sweep of what expired before `now`.
struct Sweeper<'a> {
    sqlite: &'a Sqlite,
    now: i64,
}

impl Expire for Sweeper<'_> {
    type RowId = i64;

    async fn expired(&mut self, table: Table) -> Result<Vec<i64>, StorageError> {
        let mut lease = self.sqlite.file().await?.readers.acquire().await?;
        let select = format!("SELECT rowid FROM {} WHERE expires_at < ? LIMIT {SCAN}", table.name());
        let query = sqlx::query_scalar(AssertSqlSafe(select)).bind(self.now).fetch_all(&mut *lease);
        let row_ids = in_time(async { Ok(query.await?) }).await?;
        lease.done();
        Ok(row_ids)
    }

    async fn delete(&mut self, table: Table, row_ids: &[i64]) -> Result<u64, StorageError> {
        let work = Work::Delete { table, row_ids: row_ids.to_vec(), now: self.now };
        in_time(self.sqlite.run(work)).await
    }
}

/// Returns the keys of a client, which need no escapes, as a JSON array.
fn json_of(client: &[String]) -> String {
    format!("[\"{}\"]", client.join("\",\""))
}

/// Creates what is missing; the time of the latest sweep, which is `lost_to` where rows were lost that expire until then.
async fn prepare(connection: &mut SqliteConnection, lost_to: Option<i64>) -> Result<i64, sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for table in Table::ALL {
        sqlx::raw_sql(table.sqlite()).execute(&mut *transaction).await?;
        sqlx::query(table.probe()).execute(&mut *transaction).await?;
    }
    sqlx::raw_sql(SQLITE_SWEEP).execute(&mut *transaction).await?;
    if let Some(lost_to) = lost_to {
        mark(lost_to, &mut transaction).await?;
    }
    let swept_to =
        sqlx::query_scalar("SELECT swept_to FROM bulkhead_sweep").fetch_optional(&mut *transaction);
    let swept_to = swept_to.await?.unwrap_or_default();
    transaction.commit().await?;
    Ok(swept_to)
}
