//! A model's folder and the small JSON files in it that describe the model.

pub mod contents;
mod family;
mod json;
pub(crate) mod layout;
mod length;
mod modules;
mod prompts;
pub mod provenance;
#[cfg(test)]
mod tests;
mod weights_source;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

pub use self::family::{Architecture, Family, ModelTask};
pub use self::modules::{DenseModule, TermModule};
pub use self::prompts::Prompts;
use self::provenance::ModelProvenance;
pub use self::weights_source::WeightsSource;
use crate::error::LoadError;
use crate::pooling::Pooling;
use crate::progress::Progress;
use crate::tensors::Tensors;

/// Names under which static models keep their table: model2vec's, its oldest one, sentence-transformers'.
pub const STATIC_TABLES: [&str; 3] = ["embeddings", "0", "embedding.weight"];

/// The description in a model's folder. Weights and tokenizer are located, not read.
#[derive(Debug)]
pub struct ModelFolder {
    /// The folder as it was named.
    pub path: PathBuf,
    /// Encoder or static model.
    pub family: Family,
    /// What an encoder's vectors become.
    pub task: ModelTask,
    /// Dense layers after the pooling, in their order.
    pub dense: Vec<DenseModule>,
    /// How the weights of terms are pooled.
    pub terms: TermModule,
    /// The configuration file, as it is.
    pub config: Value,
    /// Where the configuration file lies: `config.json`, or `config_sentence_transformers.json` in some static
    /// models.
    pub config_path: PathBuf,
    /// `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// `model.safetensors`, or `model.safetensors.index.json` where the weights are in several files.
    pub weights: PathBuf,
    /// How token vectors become one vector.
    pub pooling: Pooling,
    /// Whether vectors are scaled to length 1; `None` if the model does not say (servers do it then).
    pub normalize: Option<bool>,
    /// Whether text is lower-cased before it is tokenized.
    pub lower_case: bool,
    /// Prefixes for queries, passages and the like.
    pub prompts: Prompts,
    /// Longest input in tokens, special tokens included; `None` if there is no limit or none is stated.
    pub max_length: Option<usize>,
    /// Where the model came from, if it was pulled or converted.
    pub provenance: Option<ModelProvenance>,
    digest: OnceLock<String>,
}

impl ModelFolder {
    /// Reads a folder's JSON files. Layouts of static models: everything in the folder; weights and tokenizer in
    /// `0_StaticEmbedding`; or the folder is such a one and the configuration lies above it.
    ///
    /// # Errors
    ///
    /// When a needed file is missing or malformed, the architecture or the pooling is not served, or the model
    /// has a module (such as `Dense`) that is not.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let layout = layout::find(path)?;
        let config: Value = json::read(&layout.config)?;
        let family = family::detect(&layout, &config)?;
        let task = match family {
            Family::Encoder(_) => family::task(&layout, &config),
            Family::Static => ModelTask::Embed,
        };
        let (pooling, normalize, max_length) = match family {
            Family::Encoder(architecture) => (
                match task {
                    ModelTask::Embed => modules::pooling(&layout.root, layout.modules.as_deref())?,
                    // Classifiers look at the first token.
                    ModelTask::Classify | ModelTask::Terms => Pooling::Cls,
                },
                modules::normalize(layout.modules.as_deref()),
                length::encoder(&layout, &config, architecture)?,
            ),
            Family::Static => {
                let stated = match config.get("normalize") {
                    None | Some(Value::Null) => None,
                    Some(Value::Bool(stated)) => Some(*stated),
                    Some(_) => {
                        let reason = "`normalize` is neither true nor false";
                        return Err(LoadError::malformed(&layout.config, reason));
                    }
                };
                // A list of modules without `Normalize` does not count as "no" here: model2vec's loaders
                // scale unless `config.json` forbids it.
                let module = modules::normalize(layout.modules.as_deref()).filter(|present| *present);
                (Pooling::Mean, stated.or(module), length::static_model(&config))
            }
        };
        Ok(Self {
            path: path.to_path_buf(),
            family,
            task,
            dense: modules::dense(&layout.root, layout.modules.as_deref(), family != Family::Static)?,
            terms: modules::terms(&layout.root, layout.modules.as_deref())?,
            lower_case: length::sentence_bert(&layout)?.do_lower_case,
            prompts: prompts::read(&layout.root)?,
            provenance: ModelProvenance::read(&layout.root)?,
            config,
            config_path: layout.config,
            tokenizer: layout.tokenizer,
            weights: layout.weights,
            pooling,
            normalize,
            max_length,
            digest: OnceLock::new(),
        })
    }

    /// Returns the SHA-256 of the weights (of several files: of their bytes in the order of their names) as 64
    /// lower-case hexadecimal digits: computed by reading them once, kept afterwards.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn weights_sha256(&self, progress: &mut dyn Progress) -> Result<&str, LoadError> {
        if let Some(digest) = self.digest.get() {
            return Ok(digest);
        }
        let digest = contents::weights_sha256(&self.weights, progress)?;
        Ok(self.digest.get_or_init(|| digest))
    }

    /// Returns where the weights come from.
    pub fn weights_source(&self) -> WeightsSource {
        WeightsSource::of(&self.path, self.provenance.as_ref())
    }

    /// Returns the length of the model's vectors.
    ///
    /// # Errors
    ///
    /// When neither the configuration nor the weights' header tells it.
    pub fn dims(&self) -> Result<usize, LoadError> {
        match self.family {
            Family::Encoder(_) if let Some(last) = self.dense.last() => Ok(last.outputs),
            Family::Encoder(_) => self
                .config
                .get("hidden_size")
                .or(self.config.get("dim"))
                .or(self.config.get("n_embd"))
                .and_then(Value::as_u64)
                .and_then(|size| usize::try_from(size).ok())
                .filter(|size| *size > 0)
                .ok_or_else(|| {
                    LoadError::malformed(&self.config_path, "`hidden_size` is missing or not a number")
                }),
            Family::Static => {
                let tensors = Tensors::open(&self.weights)?;
                let table = STATIC_TABLES.iter().find_map(|name| tensors.get(name));
                match table.map(|table| table.shape) {
                    Some([_, dims]) if *dims > 0 => Ok(*dims),
                    _ => Err(LoadError::malformed(
                        &self.weights,
                        "there is no two-dimensional table of vectors, or it is empty",
                    )),
                }
            }
        }
    }
}
