//! Graphs beside the models: linear heads, which classify a loaded model's vectors, and ONNX models.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use bulkhead_inference::{
    error::LoadError,
    head::{Head, Mismatch},
    onnx::OnnxGraph,
};

use super::{ServedModel, config::Embedding};

/// The setting that names heads.
const HEADS: &str = "embedding.heads";

/// A head under the name of its graph.
#[derive(Debug)]
pub struct NamedHead {
    /// The name.
    pub name: String,
    /// What classifies.
    pub head: Head,
}

/// An ONNX model under the name of its graph.
#[derive(Debug)]
pub struct NamedOnnx {
    /// The name.
    pub name: String,
    /// What computes.
    pub graph: OnnxGraph,
}

/// Why a graph cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// Its file.
    #[error("the graph `{name}` cannot be loaded: {error}; mend the file, or leave it out of {key}")]
    Load {
        /// The graph.
        name: String,
        /// The setting that names it.
        key: &'static str,
        /// What is wrong with its file.
        error: LoadError,
    },
    /// A head's model.
    #[error("the head `{name}` does not fit: {mismatch}")]
    Mismatch {
        /// The head.
        name: String,
        /// What differs.
        mismatch: Mismatch,
    },
    /// Its name.
    #[error("{key} has a graph `{name}`, as something else is called; call the graph otherwise")]
    Name {
        /// The setting.
        key: &'static str,
        /// The name.
        name: String,
    },
}

/// Loads every head and compares it with its model, where that is loaded.
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

/// A head under a name that no model has, compared with its model, where that is loaded.
pub(super) fn checked(name: &str, head: Head, models: &[Arc<ServedModel>]) -> Result<NamedHead, GraphError> {
    if is_model(name, models) {
        return Err(GraphError::Name { key: HEADS, name: name.to_owned() });
    }
    let record = head.record();
    if let Some(model) = models.iter().find(|model| model.id == record.model_id) {
        let checked = record.check(&model.id, model.model.description());
        checked.map_err(|mismatch| GraphError::Mismatch { name: name.to_owned(), mismatch })?;
    }
    Ok(NamedHead { name: name.to_owned(), head })
}

/// Loads every ONNX model.
pub(super) fn onnx(
    settings: &Embedding,
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

fn is_model(name: &str, models: &[Arc<ServedModel>]) -> bool {
    models.iter().any(|model| model.id == name || model.path_name == name)
}
