//! Where models come from: a local folder, a registry package, the Hugging Face hub.
//!
//! Pulled models live in one folder (`models_folder`), each in a folder named by the last part of its id, with a
//! provenance record. Folders of unfinished pulls and lock files have hidden names.

mod archive;
pub mod hub;
mod inspect;
mod lock;
mod pip;
mod pull;
#[cfg(test)]
pub(crate) mod tests;

use std::fs;
use std::path::{Path, PathBuf};

pub use self::inspect::{Inspection, inspect};
pub use self::pull::{PullSource, Pulled, pull, pull_known};
use crate::catalog::{self, KnownModel, MODELS};
use crate::error::SourceError;
use crate::folder::contents::contents;
use crate::folder::provenance::Provenance;

/// A model as `bulkhead model list` shows it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Canonical id.
    pub id: String,
    /// Its entry in the table of known models, if it has one.
    pub known: Option<&'static KnownModel>,
    /// Its folder and what that takes on disk in bytes, if it is present.
    pub present: Option<(PathBuf, u64)>,
    /// Its provenance record, if it is present.
    pub provenance: Option<Provenance>,
}

/// A model to be served: its canonical id and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Canonical id: the last part of a local path, or the id under which the model was pulled.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// The known models in the table's order, then whatever else lies in the folder with a provenance record.
/// Folders that cannot be read are left out.
pub fn list(models_folder: &Path) -> Vec<Listed> {
    let mut pulled = pulled(models_folder);
    let mut listed = Vec::new();
    let mut add = |id: &str, known, found: Option<(PathBuf, Provenance)>| {
        let (folder, provenance) = found.unzip();
        let size =
            |folder: &Path| contents(folder).map_or(0, |files| files.iter().map(|file| file.bytes).sum());
        let present = folder.map(|folder| {
            let bytes = size(&folder);
            (folder, bytes)
        });
        listed.push(Listed { id: id.to_owned(), known, present, provenance });
    };
    for model in &MODELS {
        let place = pulled.iter().position(|(_, record)| record.origin.model_id == model.id);
        add(model.id, Some(model), place.map(|place| pulled.swap_remove(place)));
    }
    pulled.sort_by(|a, b| a.0.cmp(&b.0));
    for (folder, record) in pulled {
        add(&record.origin.model_id.clone(), None, Some((folder, record)));
    }
    listed
}

/// The folder of a pulled model by canonical id, short name of the table, or either with `@revision`.
pub fn find(models_folder: &Path, id: &str) -> Option<PathBuf> {
    let (name, revision) = split_revision(id);
    let id = catalog::known(name).map_or(name, |model| model.id);
    let found = pulled(models_folder).into_iter().find(|(_, record)| {
        record.origin.model_id == id
            && revision.is_none_or(|revision| record.origin.revision().as_deref() == Some(revision))
    });
    found.map(|(folder, _)| folder)
}

/// Tells which model a `--model` value means: an existing path first, else a pulled model.
///
/// # Errors
///
/// When it is neither; the message says how to pull it, or which models can be pulled.
pub fn resolve(value: &str, models_folder: &Path) -> Result<Resolved, SourceError> {
    let path = Path::new(value);
    if !value.is_empty() && path.exists() {
        let name = match path.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            // `.`, `..` and `/` have no last part of their own.
            None => fs::canonicalize(path)
                .ok()
                .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
                .unwrap_or_else(|| value.to_owned()),
        };
        return Ok(Resolved { id: name, folder: path.to_path_buf() });
    }
    let (name, revision) = split_revision(value);
    let id = catalog::known(name).map_or(name, |model| model.id);
    if let Some(folder) = find(models_folder, value) {
        return Ok(Resolved { id: id.to_owned(), folder });
    }
    let hint = match (catalog::known(name), revision) {
        (_, Some(revision)) if find(models_folder, name).is_some() => {
            format!("`{id}` is present, but not as revision `{revision}`")
        }
        (Some(model), _) => format!("get it with `bulkhead model pull {}`", model.name),
        (None, _) => format!("`bulkhead model pull` can get {}", catalog::names()),
    };
    Err(SourceError::Missing { value: value.to_owned(), hint })
}

/// `id@revision` in two parts.
fn split_revision(value: &str) -> (&str, Option<&str>) {
    match value.rsplit_once('@') {
        Some((id, revision)) if !id.is_empty() && !revision.is_empty() => (id, Some(revision)),
        _ => (value, None),
    }
}

/// All folders with a readable provenance record.
fn pulled(models_folder: &Path) -> Vec<(PathBuf, Provenance)> {
    let Ok(entries) = fs::read_dir(models_folder) else { return Vec::new() };
    let visible = entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut found = Vec::new();
    for folder in visible.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        match Provenance::read(&folder) {
            Ok(Some(record)) => found.push((folder, record)),
            Ok(None) => {}
            Err(fault) => tracing::warn!(%fault, "a folder among the models has an unreadable record"),
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
