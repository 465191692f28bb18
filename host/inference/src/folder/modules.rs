//! `modules.json` and the pooling module of sentence-transformers.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::json;
use crate::error::LoadError;
use crate::pooling::Pooling;

const FILE: &str = "modules.json";

/// One step of a model.
#[derive(Debug, Clone, Deserialize)]
pub struct Module {
    /// Folder of the step's own files, below the model's.
    #[serde(default)]
    path: PathBuf,
    /// Dotted name of the Python class.
    #[serde(rename = "type")]
    class: String,
}

impl Module {
    /// Returns the class's own name.
    fn kind(&self) -> &str {
        self.class.rsplit('.').next().unwrap_or_default()
    }

    /// Returns whether this is the step with the token vectors of a static model.
    pub fn is_static(&self) -> bool {
        self.kind() == "StaticEmbedding"
    }

    /// Returns where the weights lie, if this is the step that has them.
    pub fn transformer_path(&self) -> Option<&Path> {
        matches!(self.kind(), "Transformer" | "StaticEmbedding").then_some(&self.path)
    }
}

/// Reads a folder's `modules.json`.
pub fn read(folder: &Path) -> Result<Option<Vec<Module>>, LoadError> {
    let path = folder.join(FILE);
    let modules: Option<Vec<Module>> = json::read_optional(&path)?;
    for module in modules.iter().flatten() {
        if !module.path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            let reason = format!("module path `{}` leads out of the model's folder", module.path.display());
            return Err(LoadError::malformed(&path, reason));
        }
        if !matches!(module.kind(), "Transformer" | "StaticEmbedding" | "Pooling" | "Normalize" | "Dropout") {
            // Leaving a step out would give vectors that look right and are wrong.
            let reason =
                format!("module `{}` is not served; vectors without it would be wrong", module.class);
            return Err(LoadError::malformed(&path, reason));
        }
    }
    Ok(modules)
}

/// Returns whether the model has a `Normalize` step; `None` without a list of modules.
pub fn normalize(modules: Option<&[Module]>) -> Option<bool> {
    modules.map(|modules| modules.iter().any(|module| module.kind() == "Normalize"))
}

/// Returns the pooling of an encoder: as its module says, else the mean (what sentence-transformers adds to a bare
/// transformer). `root` is the folder that describes the model.
pub fn pooling(root: &Path, modules: Option<&[Module]>) -> Result<Pooling, LoadError> {
    let module = modules.into_iter().flatten().find(|module| module.kind() == "Pooling");
    let folder = match module {
        Some(module) => root.join(&module.path),
        None => root.join("1_Pooling"),
    };
    let path = folder.join("config.json");
    let config = if module.is_some() { json::read(&path).map(Some)? } else { json::read_optional(&path)? };
    match config {
        Some(config) => parse(&path, &config),
        None => Ok(Pooling::Mean),
    }
}

fn parse(path: &Path, config: &Map<String, Value>) -> Result<Pooling, LoadError> {
    if config.get("include_prompt") == Some(&Value::Bool(false)) {
        return Err(LoadError::malformed(path, "`include_prompt: false` is not served"));
    }
    let mut modes: Vec<&str> = config
        .iter()
        .filter(|(_, value)| **value == Value::Bool(true))
        .filter_map(|(name, _)| name.strip_prefix("pooling_mode_"))
        .collect();
    match config.get("pooling_mode") {
        Some(Value::String(mode)) => modes.push(mode),
        Some(Value::Array(list)) => modes.extend(list.iter().filter_map(Value::as_str)),
        _ => {}
    }
    match modes.as_slice() {
        ["mean_tokens" | "mean"] => Ok(Pooling::Mean),
        ["cls_token" | "cls"] => Ok(Pooling::Cls),
        ["lasttoken" | "last_token" | "last"] => Ok(Pooling::Last),
        [] => Err(LoadError::malformed(path, "no pooling mode is set; served are mean, cls and last")),
        modes => {
            let modes = modes.join(" with ");
            Err(LoadError::malformed(
                path,
                format!("pooling mode `{modes}` is not served; served are mean, cls and last"),
            ))
        }
    }
}
