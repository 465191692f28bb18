//! Resolves a configured model to its folder, and returns the folders of models.

use std::path::{Path, PathBuf};

use bulkhead_config::{Config, tables::MissingTable};
use bulkhead_inference::{error::SourceError, model::LoadOptions};
use bulkhead_sources::{catalog, hub::HubModel};

use super::config::EmbeddingSettings;

/// Folder of pulled models, in the data folder.
const MODELS_DIR: &str = "models";
/// Folder of packed weights and tokenisers, in that of the models.
const PACKED: &str = ".packed";

/// A reference to a configured model that is not yet loaded.
pub(super) struct ModelRef {
    /// The configured value.
    pub(super) value: String,
    /// Canonical id.
    pub(super) id: String,
    /// Its folder, or how an operator can get it.
    pub(super) folder: Result<PathBuf, String>,
}

impl ModelRef {
    /// Resolves a configured value: an existing path, else a pulled model, else one in the hub's cache.
    pub(super) fn resolve(value: &str, models_dir: &Path) -> Self {
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

/// Returns the folder of pulled models.
///
/// # Errors
/// When the configuration was read without the table of embedding.
pub fn models_dir(config: &Config) -> Result<PathBuf, MissingTable> {
    let configured = config.table::<EmbeddingSettings>()?.models_dir.clone();
    Ok(configured.unwrap_or_else(|| config.data_dir.join(MODELS_DIR)))
}

/// Returns the folder of packed weights and tokenisers, below that of the models.
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
