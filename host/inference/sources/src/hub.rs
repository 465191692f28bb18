//! Downloads of models from the Hugging Face hub, only when asked for.
//!
//! Downloads go into the cache that Python's `huggingface_hub` uses, in its layout, so that either finds what the
//! other fetched: `models--ORG--NAME/blobs/ETAG`, `snapshots/COMMIT/FILE` (a link to the blob), and `refs/REVISION`
//! (a file holding the commit).

mod cache;
mod client;
mod partial;
mod settings;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use bulkhead_inference::error::SourceError;
use bulkhead_inference::folder::ModelFolder;
use bulkhead_inference::progress::Progress;
use bulkhead_inference::tensors::shards::{INDEX as WEIGHTS_INDEX, WEIGHTS};
use serde::Deserialize;

use self::cache::Cache;
use self::client::Client;
pub use self::settings::HubSettings;
use super::lock::Lock;

/// Branch that is meant when no revision is named.
const MAIN: &str = "main";

/// Files a model may have, in its folder or in a module's.
const WANTED: [&str; 9] = [
    "config.json",
    "config_sentence_transformers.json",
    WEIGHTS,
    WEIGHTS_INDEX,
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
];

/// A model of the hub: `ORG/NAME`, perhaps at a branch, tag or commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubModel {
    /// `ORG/NAME`.
    pub id: String,
    /// Branch, tag or commit.
    pub revision: String,
}

/// A model in the hub's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    /// `ORG/NAME`, in a list perhaps with `@COMMIT`.
    pub id: String,
    /// The commit, 40 hexadecimal digits.
    pub commit: String,
    /// The folder with the model's files.
    pub folder: PathBuf,
}

#[derive(Deserialize)]
struct Listing {
    sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl HubModel {
    /// Reads `ORG/NAME` or `ORG/NAME@REVISION`.
    ///
    /// # Errors
    ///
    /// When it has not that form, or a character that no name on the hub has.
    pub fn parse(value: &str) -> Result<Self, SourceError> {
        let (id, revision) = super::split_revision(value);
        let plain = |part: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !part.is_empty() && part.bytes().all(known) && !part.starts_with('.')
        };
        let revision = revision.unwrap_or(MAIN);
        let two = id.split('/').count() == 2;
        if !two || !id.split('/').all(plain) || !revision.split('/').all(plain) {
            let reason = "a model is named ORG/NAME or ORG/NAME@REVISION".to_owned();
            return Err(SourceError::Hub { model: format!("`{value}`"), reason });
        }
        Ok(Self { id: id.to_owned(), revision: revision.to_owned() })
    }

    fn fault(&self, reason: impl Into<String>) -> SourceError {
        SourceError::Hub { model: format!("`{}@{}`", self.id, self.revision), reason: reason.into() }
    }
}

/// Finds the model in the cache, if it is whole there. Asks no server.
pub fn find_cached(model: &HubModel, settings: &HubSettings) -> Option<Cached> {
    let cache = Cache::new(settings, &model.id);
    let commit = cache.commit(&model.revision)?;
    let folder = cache.snapshot(&commit);
    ModelFolder::open(&folder).ok()?;
    Some(Cached { id: model.id.clone(), commit, folder })
}

/// Lists all models in the cache that are whole and of a family that is served, by id. The id of a snapshot that the
/// branch `main` does not mean has `@COMMIT` behind it. Asks no server.
pub fn list_cached(settings: &HubSettings) -> Vec<Cached> {
    let mut found = Vec::new();
    for folder in names(&settings.cache) {
        let id = folder.strip_prefix("models--").and_then(|name| name.split_once("--"));
        let Some((organisation, name)) = id else { continue };
        let Ok(model) = HubModel::parse(&format!("{organisation}/{name}")) else { continue };
        let cache = Cache::new(settings, &model.id);
        let main = cache.commit(&model.revision);
        for commit in names(&cache.snapshots()) {
            let folder = cache.snapshot(&commit);
            if ModelFolder::open(&folder).is_ok() {
                let is_main = main.as_ref() == Some(&commit);
                let id = if is_main { model.id.clone() } else { format!("{}@{commit}", model.id) };
                found.push(Cached { id, commit, folder });
            }
        }
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

/// Lists the names in a folder; none if it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Fetches what the cache lacks of a model. Offline, what the cache has must do.
///
/// # Errors
///
/// When the hub cannot be reached or refuses, the model has no files that can be served, a file is not what the
/// hub says it is, or the cache cannot be written.
pub fn download(
    model: &HubModel,
    settings: &HubSettings,
    progress: &mut dyn Progress,
) -> Result<Cached, SourceError> {
    if settings.offline {
        return find_cached(model, settings).ok_or_else(|| {
            let reason = "it is not in the cache, and HF_HUB_OFFLINE is set";
            model.fault(format!("{reason} (cache: {})", settings.cache.display()))
        });
    }
    let client = Client::new(settings, model);
    let cache = Cache::new(settings, &model.id);
    let listing: Listing = client.listing()?;
    let is_commit = listing.sha.len() == 40 && listing.sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_commit {
        return Err(model.fault("the hub names no commit"));
    }
    let files = wanted(listing.siblings.iter().map(|file| file.rfilename.as_str()));
    if !files.iter().any(|name| name.ends_with(WEIGHTS) || name.ends_with(WEIGHTS_INDEX)) {
        return Err(model.fault("it has no model.safetensors; other formats are not served"));
    }
    cache.prepare()?;
    let _lock = Lock::take(&cache.lock(), progress)?;
    for name in files {
        if !cache.has(&listing.sha, name) {
            client.fetch(&cache, &listing.sha, name, progress)?;
        }
    }
    let folder = cache.snapshot(&listing.sha);
    ModelFolder::open(&folder)?;
    // Only now may the revision be found: an interrupted download stays invisible.
    cache.set_commit(&model.revision, &listing.sha)?;
    Ok(Cached { id: model.id.clone(), commit: listing.sha, folder })
}

/// Selects the files to fetch: all that may be of use, but several weight files only if there is no single one.
fn wanted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let names: Vec<&str> = names.filter(|name| is_wanted(name)).collect();
    let one = |folder: &str| names.iter().any(|name| name.strip_prefix(folder) == Some(WEIGHTS));
    let needed = |name: &&&str| {
        let file = name.rsplit('/').next().unwrap_or(name);
        let several = file == WEIGHTS_INDEX || is_shard(file);
        !several || !one(name.get(..name.len() - file.len()).unwrap_or_default())
    };
    names.iter().filter(needed).copied().collect()
}

/// Returns whether a file is one of several with weights, such as `model-00001-of-00005.safetensors`.
fn is_shard(file: &str) -> bool {
    let numbers = file.strip_prefix("model-").and_then(|rest| rest.strip_suffix(".safetensors"));
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    numbers.and_then(|numbers| numbers.split_once("-of-")).is_some_and(|(n, of)| number(n) && number(of))
}

/// Returns whether a file of the hub belongs to what is served: in the model's folder, or in a module's
/// (`1_Pooling`).
fn is_wanted(name: &str) -> bool {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let module = folder.split_once('_').is_some_and(|(number, class)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && !class.is_empty()
            && class.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    (folder.is_empty() || module) && (WANTED.contains(&file) || is_shard(file))
}
