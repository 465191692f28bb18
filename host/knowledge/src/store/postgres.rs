//! PostgreSQL: one database for a fleet of hosts.

mod publish;
mod snapshot;

use std::collections::HashMap;
use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use super::lease::in_time;
use super::rows::{FORMAT, StagedRow, StoredVectors, WHICH_FORMAT, check, staged};
use crate::error::{Error, PATIENCE};
pub(super) use snapshot::PostgresSnapshot;

/// Questions that are answered at once; more wait.
const CONNECTIONS: u32 = 8;
/// Held while the tables are made, so that two processes do not make them at once: "knowled" in ASCII.
const LOCK: i64 = 0x006b_6e6f_776c_6564;

/// `words` holds terms as [`crate::text::words`] makes them, so no text search configuration touches them: those of the
/// title have weight A.
const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS knowledge_base (
        one integer PRIMARY KEY CHECK (one = 1), format bigint NOT NULL, generation bigint NOT NULL,
        model text, weights_sha256 text, dtype text, prompt text, dims bigint,
        late_interaction text)",
    "CREATE TABLE IF NOT EXISTS knowledge_document (
        number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, id text NOT NULL, source text NOT NULL,
        title text NOT NULL, url text, language text, UNIQUE (source, id))",
    "CREATE TABLE IF NOT EXISTS knowledge_category (
        document bigint NOT NULL REFERENCES knowledge_document ON DELETE CASCADE, name text NOT NULL,
        PRIMARY KEY (document, name))",
    "CREATE TABLE IF NOT EXISTS knowledge_passage (
        number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, id text NOT NULL UNIQUE,
        document bigint NOT NULL REFERENCES knowledge_document ON DELETE CASCADE, place bigint NOT NULL,
        text text NOT NULL, terms text NOT NULL, words tsvector NOT NULL, vector bytea NOT NULL,
        word_vectors bytea NOT NULL, item_vectors bytea NOT NULL)",
    "CREATE INDEX IF NOT EXISTS knowledge_passage_document ON knowledge_passage (document, place)",
    "CREATE INDEX IF NOT EXISTS knowledge_passage_words ON knowledge_passage USING gin (words)",
    "CREATE TABLE IF NOT EXISTS knowledge_staged (
        key text PRIMARY KEY, vector bytea NOT NULL, word_vectors bytea NOT NULL,
        item_vectors bytea NOT NULL)",
];

pub(crate) struct Postgres {
    pool: PgPool,
    write: bool,
}

impl Postgres {
    pub(super) async fn open(url: &str, write: bool) -> Result<Self, Error> {
        let options = PgConnectOptions::from_str(url).map_err(|_| Error::Url)?.disable_statement_logging();
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(PATIENCE)
            .connect_with(options)
            .await?;
        if write {
            create(&pool).await?;
        }
        let made = sqlx::query_scalar("SELECT to_regclass('knowledge_base') IS NOT NULL").fetch_one(&pool);
        let made: bool = in_time(made).await?;
        if !made {
            return Err(Error::NotInitialized);
        }
        check(in_time(sqlx::query_scalar(WHICH_FORMAT).fetch_one(&pool)).await?)?;
        Ok(Self { pool, write })
    }

    pub(super) async fn snapshot(&self) -> Result<PostgresSnapshot, Error> {
        PostgresSnapshot::begin(&self.pool, None).await
    }

    pub(super) async fn staged(&self, keys: &[&str]) -> Result<HashMap<String, StoredVectors>, Error> {
        let rows: Vec<StagedRow> = sqlx::query_as(
            "SELECT key, vector, word_vectors, item_vectors FROM knowledge_staged WHERE key = ANY($1)",
        )
        .bind(keys)
        .fetch_all(self.writer()?)
        .await?;
        Ok(staged(rows))
    }

    pub(super) async fn stage(&self, vectors: &[(&str, StoredVectors)]) -> Result<(), Error> {
        let keys: Vec<&str> = vectors.iter().map(|(key, _)| *key).collect();
        let texts: Vec<&[u8]> = vectors.iter().map(|(_, own)| own.text.as_slice()).collect();
        let words: Vec<&[u8]> = vectors.iter().map(|(_, own)| own.words.as_slice()).collect();
        let items: Vec<&[u8]> = vectors.iter().map(|(_, own)| own.items.as_slice()).collect();
        sqlx::query(
            "INSERT INTO knowledge_staged (key, vector, word_vectors, item_vectors)
            SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[]) ON CONFLICT (key) DO NOTHING",
        )
        .bind(keys)
        .bind(texts)
        .bind(words)
        .bind(items)
        .execute(self.writer()?)
        .await?;
        Ok(())
    }

    fn writer(&self) -> Result<&PgPool, Error> {
        if self.write { Ok(&self.pool) } else { Err(Error::ReadOnly) }
    }
}

async fn create(pool: &PgPool) -> Result<(), Error> {
    let mut transaction = pool.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *transaction).await?;
    for statement in SCHEMA {
        sqlx::query(*statement).execute(&mut *transaction).await?;
    }
    sqlx::query(
        "INSERT INTO knowledge_base (one, format, generation) VALUES (1, $1, 0) ON CONFLICT DO NOTHING",
    )
    .bind(FORMAT)
    .execute(&mut *transaction)
    .await?;
    Ok(transaction.commit().await?)
}
