//! An opened knowledge base.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use crate::embedder::Embedder;
use crate::embedder::provenance::Provenance;
use crate::error::{Error, PATIENCE};
use crate::import::progress::ImportObserver;
use crate::import::{self, ImportOptions, ImportReport};
use crate::index::Index;
use crate::search::{self, Passage, PassageItems, Query, ScoredPassage};
use crate::source::Source;
use crate::store::{Counts, Publication, Snapshot, SourceCounts, Store};

/// The mode in which a base is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Searching; the base must exist.
    Read,
    /// Importing too; creates an empty base if it is missing.
    Write,
}

/// A knowledge base. The next search notices imports of other processes, and a replaced file.
pub struct KnowledgeBase {
    store: Store,
    mode: Mode,
    index: RwLock<Arc<Index>>,
    /// Held by the one search that reads a new state into memory.
    loading: tokio::sync::Mutex<()>,
}

impl KnowledgeBase {
    /// Opens the base at `url`: a path or `sqlite:PATH`, a file; or `postgres://...`.
    ///
    /// # Errors
    ///
    /// When it is not there, has another format, or the database fails.
    pub async fn open(url: &str, mode: Mode) -> Result<Self, Error> {
        let store = Store::open(url, mode == Mode::Write).await?;
        let mut snapshot = store.snapshot().await?;
        let header = snapshot.header().await?;
        let index = Index::load(&mut snapshot, header).await?;
        snapshot.end().await?;
        Ok(Self { store, mode, index: RwLock::new(Arc::new(index)), loading: tokio::sync::Mutex::new(()) })
    }

    /// Returns the model that the base was embedded with, as the last search, import or [`Self::refresh`] saw it;
    /// `None` while the base is empty.
    pub fn provenance(&self) -> Option<Provenance> {
        self.index().header.provenance.clone()
    }

    /// Looks for imports of other processes and returns the model that the base is embedded with now.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn refresh(&self) -> Result<Option<Provenance>, Error> {
        let (snapshot, index) = self.state().await?;
        snapshot.end().await?;
        Ok(index.header.provenance.clone())
    }

    /// Imports what `source` holds now: embeds and adds what is new, removes what is gone, and leaves other sources
    /// as they are. The import is atomic; what was embedded survives an interrupted import.
    ///
    /// # Errors
    ///
    /// When the source cannot be read or has a document that cannot be imported, the base was embedded with
    /// another model, the model or the database fails, or another import was faster.
    pub async fn import(
        &self,
        source: Source,
        embedder: &dyn Embedder,
        options: ImportOptions,
        progress: &dyn ImportObserver,
    ) -> Result<ImportReport, Error> {
        if self.mode == Mode::Read {
            return Err(Error::ReadOnly);
        }
        let report = import::import(&self.store, source, embedder, &options, progress).await?;
        self.refresh().await?;
        Ok(report)
    }

    /// Embeds the passages of all sources again, the way to another model, and changes nothing else. The change is atomic;
    /// what was embedded survives an interruption.
    ///
    /// # Errors
    ///
    /// When the base is empty or was opened for reading, the model or the database fails, or an import was faster.
    pub async fn reembed(
        &self,
        embedder: &dyn Embedder,
        progress: &dyn ImportObserver,
    ) -> Result<ImportReport, Error> {
        if self.mode == Mode::Read {
            return Err(Error::ReadOnly);
        }
        let report = import::reembed(&self.store, embedder, progress).await?;
        self.refresh().await?;
        Ok(report)
    }

    /// Returns the passages that may answer a question, best first, one a document.
    ///
    /// # Errors
    ///
    /// When the question's vector does not fit the base or the database fails.
    pub async fn search(&self, query: &Query) -> Result<Vec<Passage>, Error> {
        Ok(self.search_scored(query).await?.into_iter().map(|scored| scored.passage).collect())
    }

    /// Returns the passages that may answer a question with their sentences, list items and rows of tables, those with
    /// the best item first. `sentences` are vectors of the question's sentences, made as its own is.
    ///
    /// # Errors
    ///
    /// When a vector does not fit the base or the database fails.
    pub async fn find(&self, query: &Query, sentences: &[Vec<f32>]) -> Result<Vec<PassageItems>, Error> {
        // On the heap: the caller may have little stack, as a guest has.
        let (mut snapshot, index) = Box::pin(self.state()).await?;
        let found = Box::pin(search::find(&mut snapshot, &index, query, sentences)).await?;
        snapshot.end().await?;
        Ok(found)
    }

    /// Searches as [`Self::search`] does, and returns the features of each passage too.
    pub(crate) async fn search_scored(&self, query: &Query) -> Result<Vec<ScoredPassage>, Error> {
        // On the heap: the caller may have little stack, as a guest has.
        let (mut snapshot, index) = Box::pin(self.state()).await?;
        let scored = Box::pin(search::search(&mut snapshot, &index, query)).await?;
        snapshot.end().await?;
        Ok(scored)
    }

    /// Removes all documents of the source with this name and returns how many there were. The removal is atomic.
    ///
    /// # Errors
    ///
    /// When the base has no such source (the error names those that it has), was opened for reading, the database
    /// fails, or an import was faster.
    pub async fn remove(&self, source: &str) -> Result<SourceCounts, Error> {
        if self.mode == Mode::Read {
            return Err(Error::ReadOnly);
        }
        let mut snapshot = self.store.snapshot().await?;
        let header = snapshot.header().await?;
        let (removed, others): (Vec<_>, Vec<_>) =
            sources(&mut snapshot).await?.into_iter().partition(|known| known.name == source);
        let known = snapshot.known(source).await?;
        snapshot.end().await?;
        let Some(removed) = removed.into_iter().next() else {
            let known = others.into_iter().map(|source| source.name).collect();
            return Err(Error::Source { name: source.to_owned(), known });
        };
        // An empty base may be filled with another model.
        let provenance = header.provenance.as_ref().filter(|_| !others.is_empty());
        let mut publication = Publication::new(header.generation, source, provenance);
        publication.vanished = known.keys().map(String::as_str).collect();
        self.store.publish(&publication).await?;
        self.refresh().await?;
        Ok(removed)
    }

    /// Returns the sources that were imported, by name.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn sources(&self) -> Result<Vec<SourceCounts>, Error> {
        let mut snapshot = self.store.snapshot().await?;
        let sources = sources(&mut snapshot).await?;
        snapshot.end().await?;
        Ok(sources)
    }

    /// Returns the ids of all documents, whatever their source.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn documents(&self) -> Result<HashSet<String>, Error> {
        let mut snapshot = self.store.snapshot().await?;
        let passages = snapshot.texts().await?;
        snapshot.end().await?;
        Ok(passages.into_iter().map(|passage| passage.document).collect())
    }

    /// Counts what the base holds.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn count(&self) -> Result<Counts, Error> {
        let counts = self.sources().await?.into_iter().fold(Counts::default(), |sum, source| Counts {
            sources: sum.sources + 1,
            documents: sum.documents + source.documents,
            passages: sum.passages + source.passages,
        });
        Ok(counts)
    }

    /// Returns a snapshot, and the index of the same state.
    async fn state(&self) -> Result<(Snapshot, Arc<Index>), Error> {
        let mut snapshot = self.store.snapshot().await?;
        let header = snapshot.header().await?;
        let index = self.index();
        if index.header == header {
            return Ok((snapshot, index));
        }
        // The loading search may be waiting for a database that does not answer.
        let loading = tokio::time::timeout(PATIENCE, self.loading.lock());
        let _loading = loading.await.map_err(|_| Error::Timeout)?;
        let index = self.index();
        if index.header == header {
            return Ok((snapshot, index));
        }
        let index = Arc::new(Index::load(&mut snapshot, header).await?);
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&index);
        Ok((snapshot, index))
    }

    fn index(&self) -> Arc<Index> {
        Arc::clone(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn sources(snapshot: &mut Snapshot) -> Result<Vec<SourceCounts>, Error> {
    let mut sources = snapshot.sources().await?;
    // A database's own order of texts may be another one.
    sources.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(sources)
}
