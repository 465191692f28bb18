//! Weights in several files: `model.safetensors.index.json` says which tensor lies in which of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::LoadError;

/// Weights in one file.
pub const WEIGHTS: &str = "model.safetensors";
/// Weights in a form that is not read.
pub(crate) const PICKLED: &str = "pytorch_model.bin";
/// What to do about it.
pub(crate) const CONVERT: &str = "pickled weights can run code and are not read; convert them in that folder: python -c \
     \"import torch; from safetensors.torch import save_file; w = torch.load('pytorch_model.bin', weights_only=True); \
     save_file({k: v.clone().contiguous() for k, v in w.items()}, 'model.safetensors')\"";
/// The list of several files.
pub const INDEX: &str = "model.safetensors.index.json";

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// Returns where a folder's weights are: its one file or, without such, the list of several.
pub(crate) fn weights(folder: &Path) -> PathBuf {
    let (one, several) = (folder.join(WEIGHTS), folder.join(INDEX));
    if !one.is_file() && several.is_file() { several } else { one }
}

/// Returns the file of each tensor, if `path` is a list of several files.
pub(super) fn read(path: &Path) -> Result<Option<BTreeMap<String, String>>, LoadError> {
    if path.file_name().is_none_or(|name| name != INDEX) {
        return Ok(None);
    }
    let text = std::fs::read(path).map_err(|source| LoadError::read(path, source))?;
    let malformed = |reason: String| LoadError::malformed(path, reason);
    let Index { weight_map } = serde_json::from_slice(&text).map_err(|fault| malformed(fault.to_string()))?;
    if weight_map.is_empty() {
        return Err(malformed("`weight_map` names no tensor".to_owned()));
    }
    // The names become paths.
    let plain = |name: &&String| {
        name.ends_with(".safetensors") && !name.starts_with('.') && !name.contains(['/', '\\'])
    };
    match weight_map.values().find(|name| !plain(name)) {
        Some(name) => {
            Err(malformed(format!("`weight_map` names {name:?}, which is not a file of this folder")))
        }
        None => Ok(Some(weight_map)),
    }
}

/// Returns the files that hold a model's weights, by name: `path` itself, or those that it lists.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let Some(places) = read(path)? else { return Ok(vec![path.to_path_buf()]) };
    let names: BTreeSet<&String> = places.values().collect();
    Ok(names.into_iter().map(|name| path.with_file_name(name)).collect())
}
