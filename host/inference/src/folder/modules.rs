//! `modules.json` and the pooling module of sentence-transformers.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::json;
use crate::error::LoadError;
use crate::pooling::Pooling;
use crate::tensors::shards::{self, WEIGHTS};

const FILE: &str = "modules.json";
/// The steps that are served.
const SERVED: [&str; 8] = [
    "Transformer",
    "MLMTransformer",
    "StaticEmbedding",
    "Pooling",
    "SpladePooling",
    "Dense",
    "Normalize",
    "Dropout",
];

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

    /// Returns whether this is the step that weighs terms.
    pub fn weighs_terms(&self) -> bool {
        self.kind() == "SpladePooling"
    }

    /// Returns where the weights lie, if this is the step that has them.
    pub fn transformer_path(&self) -> Option<&Path> {
        matches!(self.kind(), "Transformer" | "MLMTransformer" | "StaticEmbedding").then_some(&self.path)
    }
}

/// A dense layer after the pooling.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseModule {
    /// Its weights.
    pub weights: PathBuf,
    /// Numbers that it takes.
    pub inputs: usize,
    /// Numbers that it gives.
    pub outputs: usize,
    /// Whether it has a shift.
    pub has_bias: bool,
    /// Dotted name of the activation function's Python class.
    pub activation: String,
}

/// The configuration of a [`DenseModule`].
#[derive(Deserialize)]
struct DenseFile {
    in_features: usize,
    out_features: usize,
    #[serde(default = "biased")]
    bias: bool,
    #[serde(default = "tanh")]
    activation_function: String,
}

fn biased() -> bool {
    true
}

fn tanh() -> String {
    "torch.nn.modules.activation.Tanh".to_owned()
}

/// How the weights of terms are pooled, in the words of sentence-transformers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TermModule {
    /// `max` or `sum`.
    #[serde(default = "max")]
    pub pooling_strategy: String,
    /// `relu`.
    #[serde(default = "relu")]
    pub activation_function: String,
}

fn max() -> String {
    "max".to_owned()
}

fn relu() -> String {
    "relu".to_owned()
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
        if !SERVED.contains(&module.kind()) {
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

/// Returns the dense layers of a model. `root` is the folder that describes it.
/// Only an encoder has some.
pub fn dense(
    root: &Path,
    modules: Option<&[Module]>,
    is_encoder: bool,
) -> Result<Vec<DenseModule>, LoadError> {
    let mut layers = Vec::new();
    let mut pooled = false;
    for module in modules.into_iter().flatten() {
        pooled |= module.kind() == "Pooling";
        if module.kind() != "Dense" {
            continue;
        }
        let folder = root.join(&module.path);
        let path = folder.join("config.json");
        if !pooled || !is_encoder {
            let reason = format!("module `{}` is served only after the pooling of an encoder", module.class);
            return Err(LoadError::malformed(&root.join(FILE), reason));
        }
        let weights = folder.join(WEIGHTS);
        if !weights.is_file() && folder.join(shards::PICKLED).is_file() {
            return Err(LoadError::malformed(&folder.join(shards::PICKLED), shards::CONVERT));
        }
        let DenseFile { in_features: inputs, out_features: outputs, bias, activation_function } =
            json::read(&path)?;
        layers.push(DenseModule {
            weights,
            inputs,
            outputs,
            has_bias: bias,
            activation: activation_function,
        });
    }
    Ok(layers)
}

/// Returns how the weights of terms are pooled; the greatest counts if the model does not say.
pub fn terms(root: &Path, modules: Option<&[Module]>) -> Result<TermModule, LoadError> {
    let module = modules.into_iter().flatten().find(|module| module.weighs_terms());
    let path = module.map(|module| root.join(&module.path).join("config.json"));
    let read = path.map(|path| json::read_optional(&path)).transpose()?;
    Ok(read.flatten().unwrap_or_else(|| TermModule { pooling_strategy: max(), activation_function: relu() }))
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
