//! What is read from the tables, and what is written to them.

use std::collections::HashMap;

use super::file::Identity;
use crate::document::Document;
use crate::error::Error;
use crate::provenance::Provenance;

/// The tables' version. Since the second, documents have ids that are unique in their source, not in the base; since
/// the third, passages have vectors of their words.
pub(super) const FORMAT: i64 = 3;

/// What stands in the one row of `knowledge_base`, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Raised by every import.
    pub generation: i64,
    /// `None` while the base is empty.
    pub provenance: Option<Provenance>,
    /// The file that the row stands in, where the database is one: another may have the same generation.
    pub file: Option<Identity>,
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

/// What a base holds of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceCounts {
    /// The name under which it was imported.
    pub name: String,
    /// Its documents.
    pub documents: u64,
    /// Their passages.
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

/// Vectors of a passage as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Vectors {
    /// Of length 1: numbers of 32 bits, little-endian.
    pub text: Vec<u8>,
    /// Those of its words, a byte a number; empty where the model makes none.
    pub words: Vec<u8>,
}

/// A passage as it is found.
#[derive(Debug)]
pub(crate) struct Found {
    pub number: i64,
    pub id: String,
    pub source: String,
    pub document: String,
    pub title: String,
    pub url: Option<String>,
    pub language: Option<String>,
    pub text: String,
    pub terms: String,
    pub vectors: Vectors,
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

/// A passage as it stands in the base.
#[derive(Debug)]
pub(crate) struct Stored {
    pub source: String,
    pub document: String,
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
    /// `None` if nothing is left that is embedded.
    pub provenance: Option<&'p Provenance>,
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
    pub vectors: Vec<(&'p str, Vectors)>,
}

impl<'p> Publication<'p> {
    pub(crate) fn new(generation: i64, source: &'p str, provenance: Option<&'p Provenance>) -> Self {
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
    pub vectors: Vectors,
}

/// An entry's columns.
pub(super) type EntryRow = (i64, i64, String, Vec<u8>);
/// The columns of a passage that is found.
pub(super) type FoundRow =
    (i64, String, String, String, String, Option<String>, Option<String>, String, String, Vec<u8>, Vec<u8>);

impl From<EntryRow> for Entry {
    fn from((number, document, terms, vector): EntryRow) -> Self {
        Self { number, document, terms, vector }
    }
}

impl From<FoundRow> for Found {
    fn from(
        (number, id, source, document, title, url, language, text, terms, vector, words): FoundRow,
    ) -> Self {
        let vectors = Vectors { text: vector, words };
        Self { number, id, source, document, title, url, language, text, terms, vectors }
    }
}

impl From<(String, i64, i64)> for SourceCounts {
    fn from((name, documents, passages): (String, i64, i64)) -> Self {
        Self { name, documents: documents.cast_unsigned(), passages: passages.cast_unsigned() }
    }
}

/// The columns of a passage as it stands in the base.
pub(super) type StoredRow = (String, String, String, String, String);

impl From<StoredRow> for Stored {
    fn from((source, document, id, title, text): StoredRow) -> Self {
        Self { source, document, id, title, text }
    }
}

/// The columns of what is staged: key, vector of the text, vectors of its words.
pub(super) type StagedRow = (String, Vec<u8>, Vec<u8>);

/// A head's columns.
pub(super) type HeadRow =
    (i64, i64, Option<String>, Option<String>, Option<String>, Option<String>, Option<i64>, Option<String>);

impl Head {
    pub(super) fn from_row(
        (format, generation, model, weights_sha256, dtype, prompt, dims, late_interaction): HeadRow,
        file: Option<Identity>,
    ) -> Result<Self, Error> {
        check(format)?;
        let dims = dims.and_then(|dims| usize::try_from(dims).ok());
        let provenance = match (model, weights_sha256, dtype, dims) {
            (Some(model), Some(weights_sha256), Some(dtype), Some(dims)) => {
                Some(Provenance { model, weights_sha256, dtype, prompt, dims, late_interaction })
            }
            _ => None,
        };
        Ok(Self { generation, provenance, file })
    }
}

/// Refuses tables of another format. Asked for alone when a base is opened, for their columns are others.
pub(super) fn check(format: i64) -> Result<(), Error> {
    if format == FORMAT { Ok(()) } else { Err(Error::Format { found: format, known: FORMAT }) }
}

/// What [`check`] takes.
pub(super) const WHICH_FORMAT: &str = "SELECT format FROM knowledge_base";

/// What is staged, by key.
pub(super) fn staged(rows: Vec<StagedRow>) -> HashMap<String, Vectors> {
    rows.into_iter().map(|(key, text, words)| (key, Vectors { text, words })).collect()
}

/// Rows of documents, categories and passages of one source, put together.
pub(super) fn known(
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
    // A database's own order of texts may be another one.
    known.values_mut().for_each(|known| known.categories.sort_unstable());
    known
}

/// A list as one parameter.
pub(super) fn json<T: serde::Serialize>(list: &[T]) -> Result<String, Error> {
    serde_json::to_string(list).map_err(|fault| Error::Damaged(fault.to_string()))
}
