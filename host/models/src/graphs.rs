//! Graphs besides the models: linear heads, which classify a loaded model's vectors, and ONNX models.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use bulkhead_inference::{
    error::LoadError,
    head::{Head, Mismatch, Record},
    onnx::OnnxGraph,
};

use super::{ServedModel, config::EmbeddingSettings};

/// The setting that names heads.
const HEADS: &str = "embedding.heads";

/// A head under the name of its graph.
#[derive(Debug)]
pub struct NamedHead {
    /// The name.
    pub name: String,
    /// The classifier.
    pub head: Head,
}

/// An ONNX model under the name of its graph.
#[derive(Debug)]
pub struct NamedOnnx {
    /// The name.
    pub name: String,
    /// The loaded ONNX model.
    pub graph: OnnxGraph,
}

/// Why a graph cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// Its file cannot be loaded.
    #[error("the graph `{name}` cannot be loaded: {error}; fix the file, or remove it from {key}")]
    Load {
        /// The graph.
        name: String,
        /// The setting that names it.
        key: &'static str,
        /// What is wrong with its file.
        error: LoadError,
    },
    /// A head does not match its model.
    #[error("the head `{name}` does not fit: {mismatch}")]
    Mismatch {
        /// The head.
        name: String,
        /// What differs.
        mismatch: Mismatch,
    },
    /// Its name is taken.
    #[error("{key} names a graph `{name}`, but another graph or model has this name; rename the graph")]
    Name {
        /// The setting.
        key: &'static str,
        /// The name.
        name: String,
    },
}

/// Loads every head, and checks it against its model where that is loaded.
pub(super) fn heads(
    files: &BTreeMap<String, String>,
    models: &[Arc<ServedModel>],
) -> Result<Vec<Arc<NamedHead>>, GraphError> {
    let head = |(name, file): (&String, &String)| {
        let head = Head::load(Path::new(file));
        let head = head.map_err(|error| GraphError::Load { name: name.clone(), key: HEADS, error })?;
        checked(name, head, models).map(Arc::new)
    };
    files.iter().map(head).collect()
}

/// Checks that no model has the name of a head, and that the head matches its model where that is loaded: the one with its
/// weights, or another with its id.
pub(super) fn checked(name: &str, head: Head, models: &[Arc<ServedModel>]) -> Result<NamedHead, GraphError> {
    if is_model(name, models) {
        return Err(GraphError::Name { key: HEADS, name: name.to_owned() });
    }
    let record = head.record();
    let by_id = || models.iter().find(|model| model.id == record.model_id);
    if let Some(model) = of_head(record, models).or_else(by_id) {
        let checked = record.check(model.model.description());
        checked.map_err(|mismatch| GraphError::Mismatch { name: name.to_owned(), mismatch })?;
    }
    Ok(NamedHead { name: name.to_owned(), head })
}

/// Returns the model with the weights that a head was trained on; of several the one with the id that it had.
pub(super) fn of_head<'m>(record: &Record, models: &'m [Arc<ServedModel>]) -> Option<&'m Arc<ServedModel>> {
    with_weights(&record.weights_sha256, &record.model_id, models)
}

/// Returns the model with these weights; of several the one with this id.
pub(super) fn with_weights<'m>(
    weights_sha256: &str,
    id: &str,
    models: &'m [Arc<ServedModel>],
) -> Option<&'m Arc<ServedModel>> {
    let same = |model: &&Arc<ServedModel>| model.model.description().weights_sha256 == weights_sha256;
    models.iter().filter(same).find(|model| model.id == id).or_else(|| models.iter().find(same))
}

/// Loads every ONNX model.
pub(super) fn onnx(
    settings: &EmbeddingSettings,
    models: &[Arc<ServedModel>],
) -> Result<Vec<Arc<NamedOnnx>>, GraphError> {
    let key = "embedding.graphs";
    let graph = |(name, file): (&String, &String)| {
        if is_model(name, models) || settings.heads.contains_key(name) {
            return Err(GraphError::Name { key, name: name.clone() });
        }
        let graph = OnnxGraph::load(Path::new(file), settings.threads);
        let graph = graph.map_err(|error| GraphError::Load { name: name.clone(), key, error })?;
        Ok(Arc::new(NamedOnnx { name: name.clone(), graph }))
    };
    settings.graphs.iter().map(graph).collect()
}

/// Checks whether a model has this id or alias.
fn is_model(name: &str, models: &[Arc<ServedModel>]) -> bool {
    models.iter().any(|model| model.is_called(name))
}
