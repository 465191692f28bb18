//! Where documents come from.

mod folder;
mod front_matter;
mod lines;
#[cfg(test)]
mod tests;
mod zammad;

use std::path::{Path, PathBuf};

use crate::document::{Document, Refused};
use crate::error::Error;
pub use zammad::Zammad;

/// Most bytes of a file or a line.
const MAX_BYTES: u64 = 16 << 20;
/// Most documents of a source.
const MAX_DOCUMENTS: usize = 200_000;

/// Where documents come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// All Markdown, HTML and plain-text files below a folder, with their front matter; ids are paths in it.
    Folder(PathBuf),
    /// A file with a JSON object a line: `{id?, title, text|html, url?, categories?, language?}`.
    Lines(PathBuf),
    /// A knowledge base in Zammad: its published answers.
    Zammad(Zammad),
}

/// What a source holds.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Under this name the base keeps the documents, unless the caller names another.
    pub name: String,
    /// Those that can be imported, by id.
    pub documents: Vec<Document>,
    /// The others.
    pub refused: Vec<Refused>,
}

impl Reading {
    fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Takes a document, or notes why not.
    fn add(&mut self, name: &str, document: Result<Document, String>) {
        match document.and_then(Document::checked) {
            Ok(document) => self.documents.push(document),
            Err(reason) => self.refused.push(Refused { name: name.to_owned(), reason }),
        }
    }

    /// Refuses what has an id that an earlier document has, and sorts by id.
    fn unique(mut self) -> Self {
        self.documents.sort_by(|left, right| left.id.cmp(&right.id));
        let mut unique: Vec<Document> = Vec::with_capacity(self.documents.len());
        for document in self.documents {
            if unique.last().is_some_and(|last| last.id == document.id) {
                let reason = "another document has this id: ids are unique".to_owned();
                self.refused.push(Refused { name: document.id, reason });
            } else {
                unique.push(document);
            }
        }
        self.documents = unique;
        self
    }
}

impl Source {
    /// All documents of the source, and what it has besides.
    pub(crate) async fn read(self) -> Result<Reading, Error> {
        let reading = match self {
            Self::Folder(path) => off_thread(move || folder::read(&path)).await?,
            Self::Lines(path) => off_thread(move || lines::read(&path)).await?,
            Self::Zammad(zammad) => zammad::read(&zammad).await?,
        };
        if reading.documents.len() > MAX_DOCUMENTS {
            return Err(Error::TooMany { name: reading.name, limit: MAX_DOCUMENTS });
        }
        Ok(reading.unique())
    }
}

async fn off_thread<F>(read: F) -> Result<Reading, Error>
where
    F: FnOnce() -> Result<Reading, Error> + Send + 'static,
{
    tokio::task::spawn_blocking(read).await.map_err(|fault| Error::Task(fault.to_string()))?
}

/// The path as it is named in the base: absolute, so that it is the same from everywhere.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|fault| Error::Read(path.to_path_buf(), fault))
}
