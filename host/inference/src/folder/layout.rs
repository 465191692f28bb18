//! The paths of a model's files.

use std::path::{Path, PathBuf};

use super::modules::{self, Module};
use crate::error::LoadError;
use crate::tensors::shards::{self, WEIGHTS};

const CONFIG: &str = "config.json";
pub const SENTENCE_TRANSFORMERS: &str = "config_sentence_transformers.json";
const STATIC_FOLDER: &str = "0_StaticEmbedding";
const TOKENIZER: &str = "tokenizer.json";

/// The files of a model.
pub struct Layout {
    /// The folder that describes the model: the opened one or, for a static model's inner folder, the one above.
    pub root: PathBuf,
    /// The folder of tokenizer and weights.
    pub base: PathBuf,
    pub config: PathBuf,
    pub tokenizer: PathBuf,
    /// One file, or the list of several.
    pub weights: PathBuf,
    /// The entries of `modules.json`; `None` without that file.
    pub modules: Option<Vec<Module>>,
}

impl Layout {
    /// Returns the paths a file of the transformer may have, the likelier first.
    pub fn candidates(&self, name: &str) -> Vec<PathBuf> {
        let mut paths = vec![self.base.join(name)];
        if self.root != self.base {
            paths.push(self.root.join(name));
        }
        paths
    }
}

/// Locates a model's files.
pub fn find(path: &Path) -> Result<Layout, LoadError> {
    let metadata = std::fs::metadata(path).map_err(|source| LoadError::read(path, source))?;
    if !metadata.is_dir() {
        return Err(LoadError::malformed(path, "this is not a folder; a model is a folder"));
    }
    let modules = modules::read(path)?;
    let mut tried =
        vec![(path.to_path_buf(), path.to_path_buf()), (path.to_path_buf(), path.join(STATIC_FOLDER))];
    if let Some(base) = modules.iter().flatten().find_map(|module| module.transformer_path()) {
        tried.insert(0, (path.to_path_buf(), path.join(base)));
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        tried.push((parent.to_path_buf(), path.to_path_buf()));
    }
    for (root, base) in tried {
        let configs = [base.join(CONFIG), root.join(CONFIG), root.join(SENTENCE_TRANSFORMERS)];
        let config = configs.into_iter().find(|config| config.is_file());
        let (tokenizer, weights) = (base.join(TOKENIZER), shards::weights(&base));
        if let Some(config) = config
            && tokenizer.is_file()
            && weights.is_file()
        {
            let modules = if root == path { modules } else { modules::read(&root)? };
            return Ok(Layout { root, base, config, tokenizer, weights, modules });
        }
    }
    Err(LoadError::malformed(path, missing(path)))
}

/// Describes what a folder lacks that holds no whole model.
fn missing(path: &Path) -> String {
    let mut lacking: Vec<_> =
        [CONFIG, TOKENIZER].into_iter().filter(|name| !path.join(name).is_file()).collect();
    lacking.extend((!shards::weights(path).is_file()).then_some(WEIGHTS));
    let mut reason = format!("this is not a model folder: {} missing", lacking.join(", "));
    if path.join(shards::PICKLED).exists() {
        reason += &format!("; {}: {}", shards::PICKLED, shards::CONVERT);
    } else if ["model.onnx", "onnx"].iter().any(|name| path.join(name).exists()) {
        reason += "; the weights must be stored as safetensors";
    }
    reason
}
