//! Linear heads: classifiers over the vectors of a loaded model.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use bulkhead_inference::{
    error::LoadError,
    head::{Head, Mismatch},
};

use super::ServedModel;

/// A head under the name of its graph.
#[derive(Debug)]
pub struct NamedHead {
    /// The name.
    pub name: String,
    /// What classifies.
    pub head: Head,
}

/// Why a head cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// Its file.
    #[error("the head `{name}` cannot be loaded: {error}; mend the file, or leave it out of embedding.heads")]
    Load {
        /// The head.
        name: String,
        /// What is wrong with its file.
        error: LoadError,
    },
    /// Its model.
    #[error("the head `{name}` does not fit: {mismatch}")]
    Mismatch {
        /// The head.
        name: String,
        /// What differs.
        mismatch: Mismatch,
    },
    /// Its name.
    #[error("embedding.heads gives a head the name `{0}`, which is a model's; call the head otherwise")]
    Name(String),
}

/// Loads every head and compares it with its model, where that is loaded.
pub(super) fn load(
    files: &BTreeMap<String, String>,
    models: &[Arc<ServedModel>],
) -> Result<Vec<Arc<NamedHead>>, HeadError> {
    let head = |(name, file): (&String, &String)| {
        if models.iter().any(|model| model.id == *name || model.path_name == *name) {
            return Err(HeadError::Name(name.clone()));
        }
        let head =
            Head::load(Path::new(file)).map_err(|error| HeadError::Load { name: name.clone(), error })?;
        let record = head.record();
        if let Some(model) = models.iter().find(|model| model.id == record.model_id) {
            let checked = record.check(&model.id, model.model.description());
            checked.map_err(|mismatch| HeadError::Mismatch { name: name.clone(), mismatch })?;
        }
        Ok(Arc::new(NamedHead { name: name.clone(), head }))
    };
    files.iter().map(head).collect()
}
