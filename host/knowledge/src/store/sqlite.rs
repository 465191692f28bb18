//! SQLite: one file, write-ahead log, so that readers go on while an import writes.

mod publish;
mod snapshot;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bulkhead_database::sqlite::{is_unchanging, unfinished_fault};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, SqliteConnection};
use tokio::sync::RwLock;

use super::file::{self, FileIdentity};
use super::rows::{FORMAT, StagedRow, StoredVectors, WHICH_FORMAT, check, json, staged};
use crate::error::{Error, PATIENCE};
pub(super) use snapshot::SqliteSnapshot;

/// Timeout of waiting for a lock of another process.
const LOCK: Duration = Duration::from_secs(10);
/// Questions that are answered at once; more wait.
const CONNECTIONS: u32 = 8;

/// Terms of the title weigh three times as much. The tokenizer only splits the output of `words` at spaces.
const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS knowledge_base (
        one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, generation INTEGER NOT NULL,
        model TEXT, weights_sha256 TEXT, dtype TEXT, prompt TEXT, dims INTEGER,
        late_interaction TEXT)",
    "CREATE TABLE IF NOT EXISTS knowledge_document (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL,
        url TEXT, language TEXT, UNIQUE (source, id))",
    "CREATE TABLE IF NOT EXISTS knowledge_category (
        document INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (document, name)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS knowledge_passage (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document INTEGER NOT NULL, place INTEGER NOT NULL,
        text TEXT NOT NULL, terms TEXT NOT NULL, vector BLOB NOT NULL, word_vectors BLOB NOT NULL,
        item_vectors BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS knowledge_passage_document ON knowledge_passage (document, place)",
    "CREATE TABLE IF NOT EXISTS knowledge_staged (
        key TEXT PRIMARY KEY, vector BLOB NOT NULL, word_vectors BLOB NOT NULL,
        item_vectors BLOB NOT NULL) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE IF NOT EXISTS knowledge_words USING fts5(
        title, text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2')",
    "INSERT INTO knowledge_words (knowledge_words, rank) VALUES ('rank', 'bm25(3.0, 1.0)')",
];

pub(crate) struct Sqlite {
    path: PathBuf,
    /// `None` while there is no base at the path.
    readers: RwLock<Option<Readers>>,
    /// How to connect for writing; `None` if the base was opened for reading.
    writer: Option<Box<SqliteConnectOptions>>,
}

impl Sqlite {
    pub(super) async fn open(path: &Path, write: bool) -> Result<Self, Error> {
        let writer = options(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        if write {
            file::make_folder(path)?;
            let _lock = file::lock_folder(path, LOCK).await;
            file::make(path)?;
            create(&mut writer.connect().await?).await?;
        }
        let readers = RwLock::new(Some(Readers::open(path).await?));
        Ok(Self { path: path.to_path_buf(), readers, writer: write.then(|| Box::new(writer)) })
    }

    /// Begins a snapshot of the file that is at the path now: a base may be moved away, or replaced by a copy.
    pub(super) async fn snapshot(&self) -> Result<SqliteSnapshot, Error> {
        let file = FileIdentity::of(&self.path)?;
        if let Some(readers) =
            self.readers.read().await.as_ref().filter(|open| open.may_read(&self.path, file))
        {
            return readers.snapshot().await;
        }
        let mut opened = self.readers.write().await;
        if let Some(readers) = opened.as_ref().filter(|open| open.may_read(&self.path, file)) {
            return readers.snapshot().await;
        }
        // Log and index of a file are found by its name: connections to the old file and to the new one would share
        // them.
        if let Some(old) = opened.take() {
            old.pool.close().await;
        }
        opened.insert(Readers::open(&self.path).await?).snapshot().await
    }

    pub(super) async fn staged(&self, keys: &[&str]) -> Result<HashMap<String, StoredVectors>, Error> {
        let rows: Vec<StagedRow> = sqlx::query_as(
            "SELECT key, vector, word_vectors, item_vectors FROM knowledge_staged
            WHERE key IN (SELECT value FROM json_each($1))",
        )
        .bind(json(keys)?)
        .fetch_all(&mut self.write().await?)
        .await?;
        Ok(staged(rows))
    }

    pub(super) async fn stage(&self, vectors: &[(&str, StoredVectors)]) -> Result<(), Error> {
        let mut connection = self.write().await?;
        let mut transaction = sqlx::Connection::begin_with(&mut connection, "BEGIN IMMEDIATE").await?;
        for (key, vectors) in vectors {
            sqlx::query("INSERT OR REPLACE INTO knowledge_staged VALUES ($1, $2, $3, $4)")
                .bind(*key)
                .bind(vectors.text.as_slice())
                .bind(vectors.words.as_slice())
                .bind(vectors.items.as_slice())
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn write(&self) -> Result<SqliteConnection, Error> {
        Ok(self.writer.as_ref().ok_or(Error::ReadOnly)?.connect().await?)
    }
}

/// Connections to one file.
struct Readers {
    pool: SqlitePool,
    file: FileIdentity,
    /// See [`unchanged_since`].
    unchanged_since: Option<SystemTime>,
}

impl Readers {
    /// Opens a file; one of a read-only disk as one that nothing changes.
    async fn open(path: &Path) -> Result<Self, Error> {
        match Self::connect(path).await {
            Err(Error::Database(said)) => {
                Err(Error::Database(unfinished_fault(path).map_or(said, |fault| fault.to_string())))
            }
            opened => opened,
        }
    }

    async fn connect(path: &Path) -> Result<Self, Error> {
        let unchanged_since = unchanged_since(path);
        let missing = || Error::Missing(path.to_path_buf());
        let file = FileIdentity::of(path)?.ok_or_else(missing)?;
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(PATIENCE)
            // A file does not disconnect as a server does.
            .test_before_acquire(false)
            .connect_with(
                options(path)
                    .create_if_missing(false)
                    .pragma("query_only", "on")
                    .read_only(unchanged_since.is_some())
                    .immutable(unchanged_since.is_some()),
            )
            .await?;
        let tables: i64 =
            sqlx::query_scalar("SELECT count(*) FROM sqlite_master WHERE name = 'knowledge_base'")
                .fetch_one(&pool)
                .await?;
        if tables == 0 {
            return Err(missing());
        }
        check(sqlx::query_scalar(WHICH_FORMAT).fetch_one(&pool).await?)?;
        Ok(Self { pool, file, unchanged_since })
    }

    /// Returns whether these connections read the file that is at the path now. Its disk may take writes again, or be read-only
    /// only for this process.
    fn may_read(&self, path: &Path, file: Option<FileIdentity>) -> bool {
        Some(self.file) == file
            && (self.unchanged_since.is_none() || self.unchanged_since == unchanged_since(path))
    }

    async fn snapshot(&self) -> Result<SqliteSnapshot, Error> {
        SqliteSnapshot::begin(&self.pool, Some(self.file)).await
    }
}

/// Returns when a file was written last that is opened as one that nothing changes, so that SQLite does not look for changes.
fn unchanged_since(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok().filter(|_| is_unchanging(path))?.modified().ok()
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).busy_timeout(LOCK).disable_statement_logging()
}

async fn create(connection: &mut SqliteConnection) -> Result<(), Error> {
    let mut transaction = sqlx::Connection::begin_with(connection, "BEGIN IMMEDIATE").await?;
    for statement in SCHEMA {
        sqlx::query(*statement).execute(&mut *transaction).await?;
    }
    sqlx::query("INSERT OR IGNORE INTO knowledge_base (one, format, generation) VALUES (1, $1, 0)")
        .bind(FORMAT)
        .execute(&mut *transaction)
        .await?;
    Ok(transaction.commit().await?)
}
