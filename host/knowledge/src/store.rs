//! The tables of a knowledge base, in SQLite or PostgreSQL.
//!
//! `knowledge_base` has one row: format, generation and provenance. Every change ends in one transaction that
//! raises the generation; a reader works in one snapshot a question, and sees by the generation, and in SQLite by the
//! file, whether what it keeps in memory is of that snapshot. `knowledge_staged` holds vectors of an import that has
//! not finished.

#[macro_use]
mod sql;
mod file;
mod lease;
mod postgres;
mod rows;
mod sqlite;

use std::collections::HashMap;
use std::path::PathBuf;

use crate::error::Error;
use postgres::{Postgres, PostgresSnapshot};
pub(crate) use rows::{
    BaseHeader, FoundPassage, IndexEntry, NewPassage, Publication, StoredDocument, StoredPassage,
    StoredVectors,
};
pub use rows::{Counts, SourceCounts};
use sqlite::{Sqlite, SqliteSnapshot};

/// A database that holds a knowledge base.
pub(crate) enum Store {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// One state of the base that later imports do not change.
pub(crate) enum Snapshot {
    Sqlite(SqliteSnapshot),
    Postgres(PostgresSnapshot),
}

/// Dispatches a call to the database in use.
macro_rules! dispatch {
    ($which:expr, $one:ident => $answer:expr) => {
        match $which {
            Self::Sqlite($one) => $answer,
            Self::Postgres($one) => $answer,
        }
    };
}

impl Store {
    /// Opens the base at `url`; with `write` creates its tables if there are none.
    pub(crate) async fn open(url: &str, write: bool) -> Result<Self, Error> {
        let path = match url.split_once(':') {
            Some(("postgres" | "postgresql", _)) => {
                return Postgres::open(url, write).await.map(Self::Postgres);
            }
            Some(("sqlite", path)) => path.trim_start_matches("//"),
            // A scheme has more than the one letter of a drive.
            Some((scheme, _)) if scheme.len() > 1 && !scheme.contains('/') => return Err(Error::Url),
            _ => url,
        };
        let path = PathBuf::from(path);
        Sqlite::open(&path, write).await.map(Self::Sqlite).map_err(|error| error.of(&path))
    }

    pub(crate) async fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(match self {
            Self::Sqlite(store) => Snapshot::Sqlite(store.snapshot().await?),
            Self::Postgres(store) => Snapshot::Postgres(store.snapshot().await?),
        })
    }

    /// Returns the vectors that are staged under `keys`.
    pub(crate) async fn staged(&self, keys: &[&str]) -> Result<HashMap<String, StoredVectors>, Error> {
        dispatch!(self, store => store.staged(keys).await)
    }

    /// Keeps vectors until an import finishes.
    pub(crate) async fn stage(&self, vectors: &[(&str, StoredVectors)]) -> Result<(), Error> {
        dispatch!(self, store => store.stage(vectors).await)
    }

    /// Replaces the state of a source in one transaction.
    pub(crate) async fn publish(&self, publication: &Publication<'_>) -> Result<(), Error> {
        dispatch!(self, store => store.publish(publication).await)
    }
}

impl Snapshot {
    pub(crate) async fn header(&mut self) -> Result<BaseHeader, Error> {
        dispatch!(self, snapshot => snapshot.header().await)
    }

    /// Counts the documents and passages of each source, in no order.
    pub(crate) async fn sources(&mut self) -> Result<Vec<SourceCounts>, Error> {
        dispatch!(self, snapshot => snapshot.sources().await)
    }

    /// Returns all passages, by number.
    pub(crate) async fn entries(&mut self) -> Result<Vec<IndexEntry>, Error> {
        dispatch!(self, snapshot => snapshot.entries().await)
    }

    /// Returns the categories of documents, by the documents' numbers.
    pub(crate) async fn categories(&mut self) -> Result<Vec<(i64, String)>, Error> {
        dispatch!(self, snapshot => snapshot.categories().await)
    }

    /// Returns the languages of documents that have one, by the documents' numbers.
    pub(crate) async fn languages(&mut self) -> Result<Vec<(i64, String)>, Error> {
        dispatch!(self, snapshot => snapshot.languages().await)
    }

    /// Returns the numbers and terms of the passages that hold some of `terms`, those that the database finds the
    /// best; a term's weight says how rare it is. With `categories` only those of documents in one of them, or
    /// without any.
    pub(crate) async fn matches(
        &mut self,
        terms: &[(&str, f32)],
        categories: &[String],
        limit: usize,
    ) -> Result<Vec<(i64, String)>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        dispatch!(self, snapshot => snapshot.matches(terms, categories, limit).await)
    }

    /// Returns the passages with these numbers, in any order.
    pub(crate) async fn found(&mut self, numbers: &[i64]) -> Result<Vec<FoundPassage>, Error> {
        dispatch!(self, snapshot => snapshot.found(numbers).await)
    }

    /// Returns the documents of a source, by id.
    pub(crate) async fn known(&mut self, source: &str) -> Result<HashMap<String, StoredDocument>, Error> {
        dispatch!(self, snapshot => snapshot.known(source).await)
    }

    /// Returns all passages with their texts, in no order.
    pub(crate) async fn texts(&mut self) -> Result<Vec<StoredPassage>, Error> {
        dispatch!(self, snapshot => snapshot.texts().await)
    }

    /// Returns the connection to the pool. One that is dropped instead is closed.
    pub(crate) async fn end(self) -> Result<(), Error> {
        dispatch!(self, snapshot => snapshot.end().await)
    }
}
