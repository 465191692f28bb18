//! Which folder a configured model means.

use std::path::{Path, PathBuf};

use bulkhead_config::{Config, tables::MissingTable};
use bulkhead_inference::{
    catalog,
    error::SourceError,
    model::LoadOptions,
    source::{self, hub::HubModel},
};

use super::config::Embedding;

/// Folder of pulled models, in the data folder.
const MODELS_DIR: &str = "models";
/// Folder of packed weights and tokenisers, among the models.
const PACKED: &str = ".packed";

/// A configured model before it is loaded.
pub(super) struct Wanted {
    /// As configured.
    pub(super) value: String,
    /// Canonical id.
    pub(super) id: String,
    /// Its folder, or how to get it.
    pub(super) folder: Result<PathBuf, String>,
}

impl Wanted {
    /// A path where there is something, else a model that has been pulled, else one in the hub's cache.
    pub(super) fn find(value: &str, models_dir: &Path) -> Self {
        match source::resolve(value, models_dir) {
            Ok(found) => Self { value: value.to_owned(), id: found.id, folder: Ok(found.folder) },
            Err(error) => {
                // The id that it would have; a path of this machine is nobody else's business.
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

/// Folder of pulled models.
///
/// # Errors
/// When the configuration was read without the table of embedding.
pub fn models_dir(config: &Config) -> Result<PathBuf, MissingTable> {
    let configured = config.table::<Embedding>()?.models_dir.clone();
    Ok(configured.unwrap_or_else(|| config.data_dir.join(MODELS_DIR)))
}

/// Folder of packed weights and tokenisers, below that of the models.
pub fn packed_dir(models_dir: &Path) -> PathBuf {
    models_dir.join(PACKED)
}

/// How models are loaded.
pub fn load_options(settings: &Embedding, models_dir: &Path) -> LoadOptions {
    LoadOptions {
        dtype: settings.dtype,
        kernel: settings.kernel,
        cache: Some(packed_dir(models_dir)),
        max_input_length: settings.max_input_length,
    }
}
