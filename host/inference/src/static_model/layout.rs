//! Where a static model's files lie in its folder, and what its configuration says.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use crate::error::LoadError;

/// Tokens of a text that count when the configuration does not say (Python `model2vec` 0.10).
const MAX_LENGTH: usize = 512;

/// The files of one model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) config: PathBuf,
    pub(super) tokenizer: PathBuf,
    pub(super) model: PathBuf,
}

impl Files {
    /// Tries the layouts in the order of `model2vec-rs`.
    pub(super) fn find(folder: &Path) -> Result<Self, LoadError> {
        let inner = folder.join("0_StaticEmbedding");
        let sentence_transformers = "config_sentence_transformers.json";
        let layouts = [
            (Some(folder), folder, "config.json"),
            (Some(folder), folder, sentence_transformers),
            (Some(folder), inner.as_path(), sentence_transformers),
            (folder.parent(), folder, sentence_transformers),
        ];
        let found = layouts.into_iter().find_map(|(config, model, name)| {
            let files = Self {
                config: config?.join(name),
                tokenizer: model.join("tokenizer.json"),
                model: model.join("model.safetensors"),
            };
            [&files.config, &files.tokenizer, &files.model].iter().all(|file| file.is_file()).then_some(files)
        });
        found.ok_or_else(|| {
            let reason = "no static model: config.json (or config_sentence_transformers.json), tokenizer.json \
                and model.safetensors are not all there";
            LoadError::malformed(folder, reason)
        })
    }
}

/// What inference takes from a configuration; the rest of it tells how the model was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Config {
    #[serde(default = "yes", deserialize_with = "yes_when_null")]
    pub(super) normalize: bool,
    /// `null` means without limit.
    #[serde(default = "max_length")]
    pub(super) max_length: Option<usize>,
}

impl Config {
    pub(super) fn read(path: &Path) -> Result<Self, LoadError> {
        let bytes = std::fs::read(path).map_err(|source| LoadError::read(path, source))?;
        serde_json::from_slice(&bytes).map_err(|fault| LoadError::malformed(path, fault.to_string()))
    }
}

fn yes() -> bool {
    true
}

fn yes_when_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::deserialize(deserializer).map(|normalize| normalize.unwrap_or(true))
}

fn max_length() -> Option<usize> {
    Some(MAX_LENGTH)
}
