//! Where documents come from.

mod folder;
mod front_matter;
mod lines;
#[cfg(test)]
mod tests;
mod zammad;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::document::{Document, Refused};
use crate::error::Error;
pub use zammad::Zammad;

/// Most bytes of a file or a line.
const MAX_BYTES: u64 = 16 << 20;
/// Advice for a file or a line in another character set.
const NOT_UTF8: &str =
    "it is not UTF-8: save it as UTF-8, or convert it, as in `iconv -f WINDOWS-1252 -t UTF-8`";
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

/// The content of a source.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Name under which the base keeps the documents, unless the caller names another.
    pub name: String,
    /// Those that can be imported, by id.
    pub documents: Vec<Document>,
    /// The others.
    pub refused: Vec<Refused>,
    /// Documents without a text that are not an error: they do not stop an import.
    pub empty: Vec<Refused>,
    /// The text that lists the known members.
    pub members: &'static str,
    /// Names of unknown members of lines or of front matter, which may be mistyped.
    pub members_passed_over: BTreeSet<String>,
    /// How many files it has of unknown kinds, by their endings.
    pub files_passed_over: BTreeMap<String, usize>,
}

impl Reading {
    fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Takes a document, or records why not; `id` is its id as far as it is known.
    fn add(&mut self, name: &str, id: Option<String>, document: Result<Document, String>) {
        match document.and_then(Document::checked) {
            Ok(document) => self.documents.push(document),
            Err(reason) => self.refuse(name, id, reason),
        }
    }

    fn refuse(&mut self, name: &str, id: Option<String>, reason: String) {
        self.refused.push(Refused { name: name.to_owned(), id, reason, kept: false });
    }

    /// Returns those of the `known` ids whose documents may still exist and cannot be read now, so that they must not
    /// look as if they were gone. A refused document whose id is unknown may be any of them.
    pub(crate) fn unread<'k>(&self, known: impl Iterator<Item = &'k String>) -> HashSet<String> {
        let read: HashSet<&str> = self.documents.iter().map(|document| document.id.as_str()).collect();
        let refused: HashSet<&str> =
            self.refused.iter().filter_map(|refused| refused.id.as_deref()).collect();
        let any = self.refused.iter().any(|refused| refused.id.is_none());
        let unread = |id: &str| !read.contains(id) && (any || refused.contains(id));
        known.filter(|id| unread(id.as_str())).cloned().collect()
    }

    /// Refuses documents whose id an earlier document has, and sorts by id.
    fn unique(mut self) -> Self {
        self.documents.sort_by(|left, right| left.id.cmp(&right.id));
        let mut unique: Vec<Document> = Vec::with_capacity(self.documents.len());
        for document in self.documents {
            if unique.last().is_some_and(|last| last.id == document.id) {
                let reason = "another document has this id: ids are unique".to_owned();
                let (name, id) = (document.id.clone(), Some(document.id));
                self.refused.push(Refused { name, id, reason, kept: false });
            } else {
                unique.push(document);
            }
        }
        self.documents = unique;
        self
    }
}

impl Source {
    /// Returns whether the name of `path` is that of a page, which a folder must be imported for.
    pub fn is_page(path: &Path) -> bool {
        folder::is_page(path)
    }

    /// Reads all documents of the source.
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

/// Returns the path as it is named in the base: absolute, so that it is the same from everywhere.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|fault| Error::Read(path.to_path_buf(), fault))
}
