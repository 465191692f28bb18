//! An opened knowledge base.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use crate::embedder::Embedder;
use crate::error::{Error, PATIENCE};
use crate::import::{self, ImportOptions, Report};
use crate::index::Index;
use crate::progress::Progress;
use crate::provenance::Provenance;
use crate::search::{self, Passage, Query, Rated};
use crate::source::Source;
use crate::store::{Counts, Publication, Snapshot, SourceCounts, Store};

/// What a base is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Searching; the base must be there.
    Read,
    /// Importing too; an empty base is made where there is none.
    Write,
}

/// A knowledge base. Imports of other processes, and another file in the place of its own, are noticed by the next
/// search.
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
        let head = snapshot.head().await?;
        let index = Index::load(&mut snapshot, head).await?;
        snapshot.end().await?;
        Ok(Self { store, mode, index: RwLock::new(Arc::new(index)), loading: tokio::sync::Mutex::new(()) })
    }

    /// The model that the base was embedded with, as the last search, import or [`Self::refresh`] saw it; `None`
    /// while the base is empty.
    pub fn provenance(&self) -> Option<Provenance> {
        self.index().head.provenance.clone()
    }

    /// Looks for imports of other processes; the model that the base is embedded with now.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn refresh(&self) -> Result<Option<Provenance>, Error> {
        let (snapshot, index) = self.state().await?;
        snapshot.end().await?;
        Ok(index.head.provenance.clone())
    }

    /// Makes the base hold what `source` holds now: what is new is embedded and added, what is gone is removed;
    /// other sources stay as they are. Everything or nothing; what was embedded survives an import that is
    /// interrupted.
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
        progress: &dyn Progress,
    ) -> Result<Report, Error> {
        if self.mode == Mode::Read {
            return Err(Error::ReadOnly);
        }
        let report = import::import(&self.store, source, embedder, &options, progress).await?;
        self.refresh().await?;
        Ok(report)
    }

    /// The passages that may answer a question, best first, one a document.
    ///
    /// # Errors
    ///
    /// When the question's vector does not fit the base or the database fails.
    pub async fn search(&self, query: &Query) -> Result<Vec<Passage>, Error> {
        Ok(self.rated(query).await?.into_iter().map(|rated| rated.passage).collect())
    }

    /// What [`Self::search`] finds, with what speaks for each passage.
    pub(crate) async fn rated(&self, query: &Query) -> Result<Vec<Rated>, Error> {
        // On the heap: whoever waits may have little stack, as a guest has.
        let (mut snapshot, index) = Box::pin(self.state()).await?;
        let rated = Box::pin(search::search(&mut snapshot, &index, query)).await?;
        snapshot.end().await?;
        Ok(rated)
    }

    /// Removes all documents of the source with this name; how many that were. Everything or nothing.
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
        let head = snapshot.head().await?;
        let (removed, others): (Vec<_>, Vec<_>) =
            sources(&mut snapshot).await?.into_iter().partition(|known| known.name == source);
        let known = snapshot.known(source).await?;
        snapshot.end().await?;
        let Some(removed) = removed.into_iter().next() else {
            let known = others.into_iter().map(|source| source.name).collect();
            return Err(Error::Source { name: source.to_owned(), known });
        };
        // An empty base may be filled with another model.
        let provenance = head.provenance.as_ref().filter(|_| !others.is_empty());
        let mut publication = Publication::new(head.generation, source, provenance);
        publication.vanished = known.keys().map(String::as_str).collect();
        self.store.publish(&publication).await?;
        self.refresh().await?;
        Ok(removed)
    }

    /// The sources that were imported, by name.
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

    /// Ids of all documents, whatever their source.
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

    /// What the base holds.
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

    /// A snapshot, and what is in memory of the same state.
    async fn state(&self) -> Result<(Snapshot, Arc<Index>), Error> {
        let mut snapshot = self.store.snapshot().await?;
        let head = snapshot.head().await?;
        let index = self.index();
        if index.head == head {
            return Ok((snapshot, index));
        }
        // Who loads may be waiting for a database that is silent.
        let loading = tokio::time::timeout(PATIENCE, self.loading.lock());
        let _loading = loading.await.map_err(|_| Error::Silent)?;
        let index = self.index();
        if index.head == head {
            return Ok((snapshot, index));
        }
        let index = Arc::new(Index::load(&mut snapshot, head).await?);
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
