//! The rows of the tables.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::file::FileIdentity;
use crate::document::Document;
use crate::embedder::provenance::Provenance;
use crate::error::Error;

/// The tables' version. Since the second, documents have ids that are unique in their source, not in the base; since
/// the third, passages have vectors of their words; since the fourth, of their items.
pub(super) const FORMAT: i64 = 4;

/// The one row of `knowledge_base`, and its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BaseHeader {
    /// Raised by every import.
    pub generation: i64,
    /// `None` while the base is empty.
    pub provenance: Option<Provenance>,
    /// The file of the row, where the database is one: another may have the same generation.
    pub file: Option<FileIdentity>,
}

/// Counts of a base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sources that were imported.
    pub sources: u64,
    /// Documents.
    pub documents: u64,
    /// Passages of documents.
    pub passages: u64,
}

/// Counts of one source.
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
pub(crate) struct IndexEntry {
    pub number: i64,
    pub document: i64,
    /// Terms of the title, a line end, terms of the text.
    pub terms: String,
    /// Numbers of 32 bits, little-endian.
    pub vector: Vec<u8>,
}

/// Vectors of a passage as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoredVectors {
    /// Of length 1: numbers of 32 bits, little-endian.
    pub text: Vec<u8>,
    /// Those of its words, a byte a number; empty where the model makes none.
    pub words: Vec<u8>,
    /// Those of its items, as [`crate::text::items`] encodes them.
    pub items: Vec<u8>,
}

/// A passage as it is found.
#[derive(Debug)]
pub(crate) struct FoundPassage {
    pub number: i64,
    pub id: String,
    pub source: String,
    pub document: String,
    pub title: String,
    pub url: Option<String>,
    pub language: Option<String>,
    pub text: String,
    pub terms: String,
    pub vectors: StoredVectors,
}

/// A document in the base, without its text.
#[derive(Debug, Default)]
pub(crate) struct StoredDocument {
    pub title: String,
    pub url: Option<String>,
    pub language: Option<String>,
    /// Sorted.
    pub categories: Vec<String>,
    /// Ids of its passages, in order.
    pub passages: Vec<String>,
}

/// A passage as it is stored.
#[derive(Debug)]
pub(crate) struct StoredPassage {
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
    /// `None` if no embedded passage is left.
    pub provenance: Option<&'p Provenance>,
    /// Documents that are new or whose members have changed.
    pub documents: Vec<&'p Document>,
    /// Ids of documents that are gone.
    pub vanished: Vec<&'p str>,
    /// Ids of passages that are gone, of documents that are not.
    pub obsolete: Vec<&'p str>,
    pub passages: Vec<NewPassage<'p>>,
    /// Passages that are there and only move: id and place.
    pub moved: Vec<(&'p str, i64)>,
    /// New vectors of passages that are there.
    pub vectors: Vec<(&'p str, StoredVectors)>,
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

    /// Returns whether it changes nothing.
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

impl StoredDocument {
    /// Returns whether these are the members of `document`.
    pub(crate) fn is_of(&self, document: &Document) -> bool {
        self.title == document.title
            && self.url == document.url
            && self.language == document.language
            && self.categories == document.categories
    }
}

/// A passage to be stored.
#[derive(Debug)]
pub(crate) struct NewPassage<'p> {
    pub id: &'p str,
    pub document: &'p str,
    pub place: i64,
    pub text: &'p str,
    pub title_terms: Vec<String>,
    pub terms: Vec<String>,
    pub vectors: StoredVectors,
}

/// An entry's columns.
pub(super) type IndexEntryRow = (i64, i64, String, Vec<u8>);
/// The columns of a passage that is found.
pub(super) type FoundPassageRow = (
    i64,
    String,
    String,
    String,
    String,
    Option<String>,
    Option<String>,
    String,
    String,
    Vec<u8>,
    Vec<u8>,
    Vec<u8>,
);

impl From<IndexEntryRow> for IndexEntry {
    fn from((number, document, terms, vector): IndexEntryRow) -> Self {
        Self { number, document, terms, vector }
    }
}

impl From<FoundPassageRow> for FoundPassage {
    fn from(
        (number, id, source, document, title, url, language, text, terms, vector, words, items): FoundPassageRow,
    ) -> Self {
        let vectors = StoredVectors { text: vector, words, items };
        Self { number, id, source, document, title, url, language, text, terms, vectors }
    }
}

impl From<(String, i64, i64)> for SourceCounts {
    fn from((name, documents, passages): (String, i64, i64)) -> Self {
        Self { name, documents: documents.cast_unsigned(), passages: passages.cast_unsigned() }
    }
}

/// The columns of a stored passage.
pub(super) type StoredPassageRow = (String, String, String, String, String);

impl From<StoredPassageRow> for StoredPassage {
    fn from((source, document, id, title, text): StoredPassageRow) -> Self {
        Self { source, document, id, title, text }
    }
}

/// The columns of staged vectors: key, vector of the text, vectors of its words and of its items.
pub(super) type StagedRow = (String, Vec<u8>, Vec<u8>, Vec<u8>);

/// A head's columns.
pub(super) type BaseHeaderRow =
    (i64, i64, Option<String>, Option<String>, Option<String>, Option<String>, Option<i64>, Option<String>);

impl BaseHeader {
    pub(super) fn from_row(
        (format, generation, model, weights_sha256, dtype, prompt, dims, late_interaction): BaseHeaderRow,
        file: Option<FileIdentity>,
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

/// Refuses tables of another format. The format is read separately when a base is opened, as other formats have other
/// columns.
pub(super) fn check(format: i64) -> Result<(), Error> {
    match format.cmp(&FORMAT) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(Error::Format { found: format, known: FORMAT }),
        Ordering::Greater => Err(Error::Newer { found: format, known: FORMAT }),
    }
}

/// The query of the format that [`check`] takes.
pub(super) const WHICH_FORMAT: &str = "SELECT format FROM knowledge_base";

/// Returns the staged vectors, by key.
pub(super) fn staged(rows: Vec<StagedRow>) -> HashMap<String, StoredVectors> {
    rows.into_iter().map(|(key, text, words, items)| (key, StoredVectors { text, words, items })).collect()
}

/// Combines rows of documents, categories and passages of one source.
pub(super) fn known(
    documents: Vec<(String, String, Option<String>, Option<String>)>,
    categories: Vec<(String, String)>,
    passages: Vec<(String, String)>,
) -> HashMap<String, StoredDocument> {
    let mut known: HashMap<_, _> = documents
        .into_iter()
        .map(|(id, title, url, language)| {
            (id, StoredDocument { title, url, language, ..StoredDocument::default() })
        })
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

/// Encodes a list as one parameter.
pub(super) fn json<T: serde::Serialize>(list: &[T]) -> Result<String, Error> {
    serde_json::to_string(list).map_err(|fault| Error::Damaged(fault.to_string()))
}
