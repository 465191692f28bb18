//! The plan of a source's passages.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::document::Document;
use crate::embedder::provenance::Provenance;
use crate::store::{NewPassage, StoredVectors};
use crate::text::chunk::{self, ChunkSize};
use crate::text::items::{PassageItem, items};
use crate::text::words;

/// All passages of a source.
pub(super) struct Plan {
    pub passages: Vec<PlannedPassage>,
}

/// A passage to come.
pub(super) struct PlannedPassage {
    /// Digest of the source's name, of the document's id, title and language and of the text: the same text has the
    /// same id.
    pub id: String,
    /// Index of its document.
    pub document: usize,
    /// Position among the document's passages.
    pub place: i64,
    pub text: String,
}

/// The texts that are embedded for a passage.
pub(super) struct PassageContent {
    /// That of the passage.
    pub passage: String,
    /// Those of its items.
    pub items: Vec<PassageItem>,
}

impl Plan {
    /// Cuts the `documents` of `source`. A passage that a document has twice is kept once.
    pub(super) fn new(source: &str, documents: &[Document], size: ChunkSize) -> Self {
        let mut passages = Vec::new();
        for (index, document) in documents.iter().enumerate() {
            let mut seen = HashSet::new();
            let texts = chunk::passages(&document.text, size);
            let texts = texts.into_iter().filter(|text| seen.insert(text.clone()));
            passages.extend(texts.zip(0..).map(|(text, place)| PlannedPassage {
                id: id(source, document, &text),
                document: index,
                place,
                text,
            }));
        }
        Self { passages }
    }

    /// Returns the passages of the document with this index, in order.
    pub(super) fn of(&self, document: usize) -> &[PlannedPassage] {
        let start = self.passages.partition_point(|passage| passage.document < document);
        let end = self.passages.partition_point(|passage| passage.document <= document);
        self.passages.get(start..end).unwrap_or_default()
    }
}

impl PlannedPassage {
    /// Returns the passage as a row.
    pub(super) fn stored<'p>(&'p self, document: &'p Document, vectors: StoredVectors) -> NewPassage<'p> {
        let language = document.language.as_deref();
        NewPassage {
            id: &self.id,
            document: &document.id,
            place: self.place,
            text: &self.text,
            title_terms: words::terms(&document.title, language),
            terms: words::terms(&self.text, language),
            vectors,
        }
    }
}

impl PassageContent {
    /// Returns what is embedded for the passage `text`: its document's title gives it a topic that it may not name.
    pub(super) fn new(title: &str, text: &str) -> Self {
        let passage = if text.starts_with(title) { text.to_owned() } else { format!("{title}\n{text}") };
        Self { passage, items: items(title, text) }
    }

    /// Returns the key under which the vectors are kept while an import runs.
    pub(super) fn key(&self, provenance: &Provenance) -> String {
        let items = self.items.iter().map(|item| item.content.as_str());
        let texts: Vec<&str> = [self.passage.as_str()].into_iter().chain(items).collect();
        provenance.key(&texts.join("\n"))
    }
}

fn id(source: &str, document: &Document, text: &str) -> String {
    let mut hash = Sha256::new();
    let language = document.language.as_deref().unwrap_or_default();
    for part in [source, &document.id, &document.title, language, text] {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    hex::encode(digest.get(..16).unwrap_or(&digest))
}
