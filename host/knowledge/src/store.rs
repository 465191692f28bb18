//! The tables of a knowledge base, in SQLite or PostgreSQL.
//!
//! `knowledge_base` has one row: format, generation and provenance. Every import ends in one transaction that
//! raises the generation; a reader works in one snapshot a question, and sees by the generation whether what it
//! keeps in memory is of that snapshot. `knowledge_staged` holds vectors of an import that has not finished.

mod postgres;
mod sqlite;

use std::collections::HashMap;
use std::path::PathBuf;

use crate::document::Document;
use crate::error::Error;
use crate::provenance::Provenance;
use postgres::{Postgres, PostgresSnapshot};
use sqlite::{Sqlite, SqliteSnapshot};

/// The tables' version.
const FORMAT: i64 = 1;

/// What stands in the one row of `knowledge_base`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Raised by every import.
    pub generation: i64,
    /// `None` while the base is empty.
    pub provenance: Option<Provenance>,
}

/// What a base holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sources that were imported.
    pub sources: u64,
    /// Documents.
    pub documents: u64,
    /// Passages of documents.
    pub passages: u64,
}

/// A passage as it is kept in memory.
#[derive(Debug)]
pub(crate) struct Entry {
    pub number: i64,
    pub document: i64,
    /// Terms of the title, a line end, terms of the text.
    pub terms: String,
    /// Numbers of 32 bits, little-endian.
    pub vector: Vec<u8>,
}

/// A passage as it is found.
#[derive(Debug)]
pub(crate) struct Found {
    pub number: i64,
    pub id: String,
    pub document: String,
    pub title: String,
    pub url: Option<String>,
    pub language: Option<String>,
    pub text: String,
    pub terms: String,
    pub vector: Vec<u8>,
}

/// A document in the base, without its text.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub title: String,
    pub url: Option<String>,
    pub language: Option<String>,
    /// Sorted.
    pub categories: Vec<String>,
    /// Ids of its passages, in order.
    pub passages: Vec<String>,
}

/// A passage of a source that is not imported now.
#[derive(Debug)]
pub(crate) struct Other {
    pub id: String,
    pub title: String,
    pub text: String,
}

/// A new state of one source.
#[derive(Debug)]
pub(crate) struct Publication<'p> {
    /// The generation that it was made for.
    pub generation: i64,
    pub source: &'p str,
    pub provenance: &'p Provenance,
    /// Documents that are new or whose members have changed.
    pub documents: Vec<&'p Document>,
    /// Ids of documents that are gone.
    pub vanished: Vec<&'p str>,
    /// Ids of passages that are gone, of documents that are not.
    pub obsolete: Vec<&'p str>,
    pub passages: Vec<New<'p>>,
    /// Passages that are there and only move: id and place.
    pub moved: Vec<(&'p str, i64)>,
    /// New vectors of passages that are there.
    pub vectors: Vec<(&'p str, Vec<u8>)>,
}

impl<'p> Publication<'p> {
    pub(crate) fn new(generation: i64, source: &'p str, provenance: &'p Provenance) -> Self {
        Self {
            generation,
            source,
            provenance,
            documents: Vec::new(),
            vanished: Vec::new(),
            obsolete: Vec::new(),
            passages: Vec::new(),
            moved: Vec::new(),
            vectors: Vec::new(),
        }
    }

    /// Whether it changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { documents, vanished, obsolete, passages, moved, vectors, .. } = self;
        documents.is_empty()
            && vanished.is_empty()
            && obsolete.is_empty()
            && passages.is_empty()
            && moved.is_empty()
            && vectors.is_empty()
    }
}

impl Known {
    /// Whether these are the members of `document`.
    pub(crate) fn is_of(&self, document: &Document) -> bool {
        self.title == document.title
            && self.url == document.url
            && self.language == document.language
            && self.categories == document.categories
    }
}

/// A passage to be stored.
#[derive(Debug)]
pub(crate) struct New<'p> {
    pub id: &'p str,
    pub document: &'p str,
    pub place: i64,
    pub text: &'p str,
    pub title_terms: Vec<String>,
    pub terms: Vec<String>,
    pub vector: Vec<u8>,
}

/// A database that holds a knowledge base.
pub(crate) enum Store {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// One state of the base, however long it is looked at.
pub(crate) enum Snapshot {
    Sqlite(SqliteSnapshot),
    Postgres(PostgresSnapshot),
}

impl Store {
    /// Opens the base at `url`; with `write` makes its tables if there are none.
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
        Sqlite::open(&PathBuf::from(path), write).await.map(Self::Sqlite)
    }

    pub(crate) async fn snapshot(&self) -> Result<Snapshot, Error> {
        match self {
            Self::Sqlite(store) => store.snapshot().await.map(Snapshot::Sqlite),
            Self::Postgres(store) => store.snapshot().await.map(Snapshot::Postgres),
        }
    }

    /// The vectors that are staged under `keys`.
    pub(crate) async fn staged(&self, keys: &[&str]) -> Result<HashMap<String, Vec<u8>>, Error> {
        match self {
            Self::Sqlite(store) => store.staged(keys).await,
            Self::Postgres(store) => store.staged(keys).await,
        }
    }

    /// Keeps vectors until an import finishes.
    pub(crate) async fn stage(&self, vectors: &[(&str, Vec<u8>)]) -> Result<(), Error> {
        match self {
            Self::Sqlite(store) => store.stage(vectors).await,
            Self::Postgres(store) => store.stage(vectors).await,
        }
    }

    /// Replaces the state of a source, all or nothing.
    pub(crate) async fn publish(&self, publication: &Publication<'_>) -> Result<(), Error> {
        match self {
            Self::Sqlite(store) => store.publish(publication).await,
            Self::Postgres(store) => store.publish(publication).await,
        }
    }
}

impl Snapshot {
    pub(crate) async fn head(&mut self) -> Result<Head, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.head().await,
            Self::Postgres(snapshot) => snapshot.head().await,
        }
    }

    pub(crate) async fn counts(&mut self) -> Result<Counts, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.counts().await,
            Self::Postgres(snapshot) => snapshot.counts().await,
        }
    }

    /// All passages, by number.
    pub(crate) async fn entries(&mut self) -> Result<Vec<Entry>, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.entries().await,
            Self::Postgres(snapshot) => snapshot.entries().await,
        }
    }

    /// Categories of documents, by the documents' numbers.
    pub(crate) async fn categories(&mut self) -> Result<Vec<(i64, String)>, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.categories().await,
            Self::Postgres(snapshot) => snapshot.categories().await,
        }
    }

    /// Languages of documents that have one, by the documents' numbers.
    pub(crate) async fn languages(&mut self) -> Result<Vec<(i64, String)>, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.languages().await,
            Self::Postgres(snapshot) => snapshot.languages().await,
        }
    }

    /// Numbers and terms of the passages that hold some of `terms`, those that the database finds the best; a
    /// term's weight says how rare it is. With `categories` only those of documents in one of them, or in none at
    /// all.
    pub(crate) async fn matches(
        &mut self,
        terms: &[(&str, f32)],
        categories: &[String],
        limit: usize,
    ) -> Result<Vec<(i64, String)>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        match self {
            Self::Sqlite(snapshot) => snapshot.matches(terms, categories, limit).await,
            Self::Postgres(snapshot) => snapshot.matches(terms, categories, limit).await,
        }
    }

    /// The passages with these numbers, in any order.
    pub(crate) async fn found(&mut self, numbers: &[i64]) -> Result<Vec<Found>, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.found(numbers).await,
            Self::Postgres(snapshot) => snapshot.found(numbers).await,
        }
    }

    /// The documents of a source, by id.
    pub(crate) async fn known(&mut self, source: &str) -> Result<HashMap<String, Known>, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.known(source).await,
            Self::Postgres(snapshot) => snapshot.known(source).await,
        }
    }

    /// Ids and sources of all documents of other sources.
    pub(crate) async fn taken(&mut self, source: &str) -> Result<HashMap<String, String>, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.taken(source).await,
            Self::Postgres(snapshot) => snapshot.taken(source).await,
        }
    }

    /// The passages of other sources.
    pub(crate) async fn others(&mut self, source: &str) -> Result<Vec<Other>, Error> {
        match self {
            Self::Sqlite(snapshot) => snapshot.others(source).await,
            Self::Postgres(snapshot) => snapshot.others(source).await,
        }
    }
}

/// An entry's columns.
type EntryRow = (i64, i64, String, Vec<u8>);
/// The columns of a passage that is found.
type FoundRow = (i64, String, String, String, Option<String>, Option<String>, String, String, Vec<u8>);

impl From<EntryRow> for Entry {
    fn from((number, document, terms, vector): EntryRow) -> Self {
        Self { number, document, terms, vector }
    }
}

impl From<FoundRow> for Found {
    fn from((number, id, document, title, url, language, text, terms, vector): FoundRow) -> Self {
        Self { number, id, document, title, url, language, text, terms, vector }
    }
}

impl From<(String, String, String)> for Other {
    fn from((id, title, text): (String, String, String)) -> Self {
        Self { id, title, text }
    }
}

/// A head's columns.
type HeadRow = (i64, i64, Option<String>, Option<String>, Option<String>, Option<String>, Option<i64>);

impl Head {
    fn from_row(
        (format, generation, model, weights_sha256, dtype, prompt, dims): HeadRow,
    ) -> Result<Self, Error> {
        if format != FORMAT {
            return Err(Error::Format { found: format, known: FORMAT });
        }
        let dims = dims.and_then(|dims| usize::try_from(dims).ok());
        let provenance = match (model, weights_sha256, dtype, dims) {
            (Some(model), Some(weights_sha256), Some(dtype), Some(dims)) => {
                Some(Provenance { model, weights_sha256, dtype, prompt, dims })
            }
            _ => None,
        };
        Ok(Self { generation, provenance })
    }
}

/// Rows of documents, categories and passages of one source, put together.
fn known(
    documents: Vec<(String, String, Option<String>, Option<String>)>,
    categories: Vec<(String, String)>,
    passages: Vec<(String, String)>,
) -> HashMap<String, Known> {
    let mut known: HashMap<_, _> = documents
        .into_iter()
        .map(|(id, title, url, language)| (id, Known { title, url, language, ..Known::default() }))
        .collect();
    for (document, category) in categories {
        if let Some(known) = known.get_mut(&document) {
            known.categories.push(category);
        }
    }
    for (document, passage) in passages {
        if let Some(known) = known.get_mut(&document) {
            known.passages.push(passage);
        }
    }
    known
}
