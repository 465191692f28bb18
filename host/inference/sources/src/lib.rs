//! Sources of models: a local folder, a registry package, the Hugging Face hub.
//!
//! Pulled models live in one folder (`models_folder`), each in a folder named by the last part of its id, with a
//! provenance record. Folders of unfinished pulls and lock files have hidden names. [`catalog`] lists the models that can be
//! pulled, [`convert`] makes folders of other projects' files.

mod archive;
pub mod catalog;
pub mod convert;
pub mod hub;
mod inspect;
mod lock;
mod pip;
mod pull;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_inference::error::{LoadError, SourceError};
use bulkhead_inference::folder::contents::contents;
use bulkhead_inference::folder::provenance::ModelProvenance;
use bulkhead_inference::folder::{ModelFolder, WeightsSource};

use self::hub::{HubModel, HubSettings};
pub use self::inspect::{Inspection, inspect, inspect_and_load};
pub use self::pull::{PullSource, PulledModel, pull, pull_known};
use crate::catalog::{KnownModel, MODELS};

/// A model as `bulkhead model list` shows it.
#[derive(Debug, Clone)]
pub struct ListedModel {
    /// Canonical id; of a revision in the hub's cache that is not the main one, with `@COMMIT`.
    pub id: String,
    /// Its entry in the table of known models, if it has one.
    pub known: Option<&'static KnownModel>,
    /// Its folder and what that takes on disk in bytes, if it is present.
    pub present: Option<(PathBuf, u64)>,
    /// Its provenance record, if it is present.
    pub provenance: Option<ModelProvenance>,
}

impl ListedModel {
    /// Returns where the model's weights come from, if it is present.
    pub fn weights_source(&self) -> Option<WeightsSource> {
        self.present.as_ref().map(|(folder, _)| WeightsSource::of(folder, self.provenance.as_ref()))
    }
}

/// A model to be served: its canonical id and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedModel {
    /// Canonical id: the last part of a local path, the id under which the model was pulled, or the name of a folder
    /// that was put among the models by hand.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// Lists the known models in the table's order, then the other models in the folder, pulled or put there by hand,
/// then the models of the Hugging Face hub's cache. Folders without a model of a family that is served are left out.
pub fn list(models_folder: &Path) -> Vec<ListedModel> {
    list_with(models_folder, &HubSettings::from_environment())
}

fn list_with(models_folder: &Path, settings: &HubSettings) -> Vec<ListedModel> {
    let mut found = present(models_folder);
    let cached = hub::list_cached(settings).into_iter();
    let own = |model: &hub::Cached| catalog::with_id(&model.id).is_none_or(KnownModel::is_on_hub);
    found.extend(cached.filter(own).map(|model| InstalledModel {
        id: model.id,
        folder: model.folder,
        provenance: None,
    }));
    let mut listed = Vec::new();
    let mut add = |id: &str, known, found: Option<InstalledModel>| {
        let (folder, provenance) = found.map(|found| (found.folder, found.provenance)).unzip();
        let size =
            |folder: &Path| contents(folder).map_or(0, |files| files.iter().map(|file| file.bytes).sum());
        let present = folder.map(|folder| {
            let bytes = size(&folder);
            (folder, bytes)
        });
        listed.push(ListedModel { id: id.to_owned(), known, present, provenance: provenance.flatten() });
    };
    for model in &MODELS {
        let place = found.iter().position(|found| found.id == model.id);
        add(model.id, Some(model), place.map(|place| found.remove(place)));
    }
    for found in found {
        add(&found.id.clone(), None, Some(found));
    }
    listed
}

/// Finds the folder of a model among the models, pulled or put there by hand: by canonical id, short name of the
/// table, or either with `@revision`, or by the folder's name.
pub fn find(models_folder: &Path, id: &str) -> Option<PathBuf> {
    find_present(models_folder, id).map(|found| found.folder)
}

fn find_present(models_folder: &Path, value: &str) -> Option<InstalledModel> {
    let (name, revision) = split_revision(value);
    let id = catalog::known(name).map_or(name, |model| model.id);
    let present = present(models_folder);
    let is_meant = |found: &InstalledModel| {
        let own = found.provenance.as_ref().and_then(|record| record.origin.revision());
        found.id == id && revision.is_none_or(|revision| own.as_deref() == Some(revision))
    };
    let by_id = present.iter().position(is_meant);
    let is_called = |found: &InstalledModel| found.folder.file_name().is_some_and(|folder| folder == value);
    let place = by_id.or_else(|| present.iter().position(is_called));
    place.and_then(|place| present.into_iter().nth(place)).or_else(|| broken(models_folder, value))
}

/// Finds a folder among the models that holds no whole model, so that loading it by name reports what is wrong.
fn broken(models_folder: &Path, name: &str) -> Option<InstalledModel> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
    let folder = Some(models_folder.join(name)).filter(|folder| plain && folder.is_dir())?;
    Some(InstalledModel { id: name.to_owned(), folder, provenance: None })
}

/// Resolves a `--model` value: an existing path first, else a model among the models, else one in the Hugging Face
/// hub's cache.
///
/// # Errors
///
/// When no model matches; the message says how to pull it, or which models can be pulled.
pub fn resolve(value: &str, models_folder: &Path) -> Result<ResolvedModel, SourceError> {
    resolve_with(value, models_folder, &HubSettings::from_environment())
}

fn resolve_with(
    value: &str,
    models_folder: &Path,
    settings: &HubSettings,
) -> Result<ResolvedModel, SourceError> {
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
        return Ok(ResolvedModel { id: name, folder: path.to_path_buf() });
    }
    if let Some(found) = find_present(models_folder, value) {
        return Ok(ResolvedModel { id: found.id, folder: found.folder });
    }
    let (name, revision) = split_revision(value);
    let known = catalog::known(name);
    let id = known.map_or(name, |model| model.id);
    let full = revision.map_or_else(|| id.to_owned(), |revision| format!("{id}@{revision}"));
    let on_hub = known.is_none_or(KnownModel::is_on_hub).then(|| HubModel::parse(&full).ok()).flatten();
    let cached = on_hub.and_then(|model| hub::find_cached(&model, settings));
    if let Some(cached) = cached {
        return Ok(ResolvedModel { id: cached.id, folder: cached.folder });
    }
    let hint = match (known, revision) {
        (_, Some(revision)) if find(models_folder, name).is_some() => {
            format!("`{id}` is present, but not as revision `{revision}`")
        }
        (Some(model), _) => format!("get it with `bulkhead model pull {}`", model.name),
        (None, _) if let Some(repack) = catalog::repack_of(name) => missing_original(name, repack),
        (None, _) => format!("`bulkhead model pull` can get {}", catalog::names()),
    };
    Err(SourceError::Missing { value: value.to_owned(), hint })
}

/// Returns how to get the model `id` of the hub, or the known model that is a re-pack of it.
fn missing_original(id: &str, repack: &KnownModel) -> String {
    format!(
        "get it with `bulkhead model pull {id} --hub`; or use its 4-bit re-pack `{}`, got with `bulkhead model pull {}`",
        repack.id, repack.name
    )
}

/// Splits `id@revision` into two parts.
fn split_revision(value: &str) -> (&str, Option<&str>) {
    match value.rsplit_once('@') {
        Some((id, revision)) if !id.is_empty() && !revision.is_empty() => (id, Some(revision)),
        _ => (value, None),
    }
}

/// A model among the models.
struct InstalledModel {
    /// Canonical id: the record's, or without a record the folder's name.
    id: String,
    folder: PathBuf,
    provenance: Option<ModelProvenance>,
}

/// Reads a folder's record, with the model's own id.
fn read_record(folder: &Path) -> Result<Option<ModelProvenance>, LoadError> {
    Ok(ModelProvenance::read(folder)?.map(with_own_id))
}

/// Gives a re-pack that was recorded under the id of its original its own id.
fn with_own_id(mut record: ModelProvenance) -> ModelProvenance {
    if let Some(repack) = catalog::repack_of(&record.origin.model_id).filter(|_| record.is_four_bit()) {
        repack.id.clone_into(&mut record.origin.model_id);
    }
    record
}

/// Lists all folders with a readable provenance record, and those without one that hold a model all the same.
fn present(models_folder: &Path) -> Vec<InstalledModel> {
    let Ok(entries) = fs::read_dir(models_folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let (folder, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if name.starts_with('.') || !folder.is_dir() {
            continue;
        }
        match read_record(&folder) {
            Ok(Some(record)) => {
                let id = record.origin.model_id.clone();
                found.push(InstalledModel { id, folder, provenance: Some(record) });
            }
            Ok(None) if ModelFolder::open(&folder).is_ok() => {
                found.push(InstalledModel { id: name, folder, provenance: None });
            }
            Ok(None) => {}
            Err(fault) => tracing::warn!(%fault, "a folder among the models has an unreadable record"),
        }
    }
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    found
}
