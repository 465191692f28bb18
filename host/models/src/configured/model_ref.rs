//! Resolves a configured model to its folder, and returns the folders of models.

use std::path::{Path, PathBuf};

use bulkhead_config::{Config, tables::MissingTable};
use bulkhead_inference::{
    error::SourceError, folder::provenance::ModelProvenance, model::LoadOptions, progress::Silent,
};
use bulkhead_sources::{catalog, hub::HubModel};

use crate::config::EmbeddingSettings;

/// Folder of pulled models, in the data folder.
const MODELS_DIR: &str = "models";
/// Folder of packed weights and tokenizers, in that of the models.
const PACKED: &str = ".packed";

/// A reference to a configured model that is not yet loaded.
pub(crate) struct ModelRef {
    /// The configured value.
    pub(crate) value: String,
    /// Canonical id.
    pub(crate) id: String,
    /// Its folder, or how an operator can get it.
    pub(crate) folder: Result<PathBuf, String>,
}

impl ModelRef {
    /// Resolves a configured value: an existing path, else a pulled model, else one in the hub's cache.
    pub(crate) fn resolve(value: &str, models_dir: &Path) -> Self {
        match bulkhead_sources::resolve(value, models_dir) {
            Ok(found) => Self { value: value.to_owned(), id: found.id, folder: Ok(found.folder) },
            Err(error) => {
                // The id that it would have, without paths of this machine.
                let name = value.trim_end_matches('/');
                let is_path = value.starts_with(['/', '.']);
                let id = match is_path {
                    true => name.rsplit('/').next().unwrap_or(name),
                    false => catalog::known(name).map_or(name, |model| model.id),
                };
                let on_hub = !is_path && catalog::known(name).is_none() && HubModel::parse(value).is_ok();
                let remedy = match error {
                    SourceError::Missing { .. } if is_path => "there is no such folder".to_owned(),
                    SourceError::Missing { .. } if on_hub => {
                        format!("get it with `bulkhead model pull {name} --hub`, or name its folder")
                    }
                    SourceError::Missing { hint, .. } => hint,
                    error => error.to_string(),
                };
                Self { value: value.to_owned(), id: id.to_owned(), folder: Err(remedy) }
            }
        }
    }
}

/// Returns what is damaged of a model in this folder, if it was pulled: a power cut may have cut its files.
pub(crate) fn damage(folder: &Path) -> Option<String> {
    match ModelProvenance::read(folder) {
        Ok(record) => record?.difference(folder, &mut Silent),
        Err(_) => Some("the record of its files cannot be read".to_owned()),
    }
}

/// Returns the folder of pulled models.
///
/// # Errors
/// When the configuration was read without the table of embedding.
pub fn models_dir(config: &Config) -> Result<PathBuf, MissingTable> {
    let configured = config.table::<EmbeddingSettings>()?.models_dir.clone();
    Ok(configured.unwrap_or_else(|| config.data_dir.join(MODELS_DIR)))
}

/// Returns the folder of packed weights and tokenizers, below that of the models.
pub fn packed_dir(models_dir: &Path) -> PathBuf {
    models_dir.join(PACKED)
}

/// Returns the options that models are loaded with.
pub fn load_options(settings: &EmbeddingSettings, models_dir: &Path) -> LoadOptions {
    LoadOptions {
        dtype: settings.dtype,
        kernel: settings.kernel,
        cache: Some(packed_dir(models_dir)),
        max_input_length: settings.max_input_length,
        pooling: settings.pooling,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use bulkhead_inference::folder::provenance::{FILE, ModelOrigin};

    use super::*;

    #[test]
    fn damage_of_pulled_model_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let weights = folder.path().join("model.safetensors");
        fs::write(&weights, "weights").unwrap();
        assert_eq!(damage(folder.path()), None, "it was not pulled");
        ModelProvenance::record(folder.path(), &ModelOrigin::default(), None, &mut Silent).unwrap();
        assert_eq!(damage(folder.path()), None);
        fs::write(&weights, "wei").unwrap();
        assert_eq!(damage(folder.path()).unwrap(), "model.safetensors has 3 bytes, not 7");
        fs::write(&weights, [0; 7]).unwrap();
        assert!(damage(folder.path()).unwrap().contains("was altered"));
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(damage(folder.path()).unwrap().contains("cannot be read"));
    }
}
