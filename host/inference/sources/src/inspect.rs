//! The description of a model for `bulkhead model info`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bulkhead_inference::error::LoadError;
use bulkhead_inference::folder::contents::{ModelFile, contents};
use bulkhead_inference::folder::provenance::ModelProvenance;
use bulkhead_inference::folder::{Architecture, Family, ModelFolder, Prompts, WeightsSource};
use bulkhead_inference::model::{LoadOptions, Model};
use bulkhead_inference::progress::Progress;
use bulkhead_inference::tensors::shards::WEIGHTS;
use serde::Serialize;
use serde_json::Value;

/// A model's description, for people (by fields) and for programs (as JSON).
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// The folder.
    pub folder: PathBuf,
    /// `encoder` or `static`.
    pub family: &'static str,
    /// The architecture as the configuration names it, else the family's.
    pub architecture: String,
    /// Length of a vector.
    pub dims: usize,
    /// `mean`, `cls` or `last`.
    pub pooling: &'static str,
    /// Whether vectors are scaled to length 1 if the request does not say.
    pub normalize: bool,
    /// Longest input in tokens, if there is a limit.
    pub max_length: Option<usize>,
    /// Number of layers of an encoder.
    pub layers: Option<u64>,
    /// Prefix text by prompt name.
    pub prompts: BTreeMap<String, String>,
    /// The authors' default prompt; not used unless configured.
    pub default_prompt: Option<String>,
    /// Where the weights come from.
    #[serde(flatten)]
    pub source: WeightsSource,
    /// SHA-256 of the weights.
    pub weights_sha256: String,
    /// SPDX name of the licence, if known.
    pub licence: Option<String>,
    /// All files with their sizes in bytes.
    pub files: Vec<ModelFile>,
    /// Size of all files in bytes.
    pub bytes: u64,
    /// Where the model came from, if recorded.
    pub provenance: Option<ModelProvenance>,
    /// The first file that is not as recorded, if one is not.
    pub damage: Option<String>,
    /// Why it cannot be served: the error of loading it. Only [`inspect_and_load`] tries.
    pub fault: Option<String>,
}

/// Describes a model by what its files state, without loading it. The weights are read once for their digest, which
/// `progress` follows.
///
/// # Errors
///
/// When the folder holds no model of a family that is served, or a file cannot be read.
pub fn inspect(folder: &Path, progress: &mut dyn Progress) -> Result<Inspection, LoadError> {
    let model = ModelFolder::open(folder)?;
    let files = contents(folder)?;
    let (family, default) = match model.family {
        Family::Encoder(Architecture::Bert) => ("encoder", "BertModel"),
        Family::Encoder(Architecture::Roberta) => ("encoder", "RobertaModel"),
        Family::Encoder(Architecture::DistilBert) => ("encoder", "DistilBertModel"),
        Family::Encoder(Architecture::Mpnet) => ("encoder", "MPNetModel"),
        Family::Encoder(Architecture::ModernBert) => ("encoder", "ModernBertModel"),
        Family::Encoder(Architecture::NomicBert) => ("encoder", "NomicBertModel"),
        Family::Encoder(Architecture::Gte) => ("encoder", "GteModel"),
        Family::Static => ("static", "StaticModel"),
    };
    let named = model.config.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str);
    let architecture = named.unwrap_or(default).to_owned();
    // The record's digests are compared file by file, the weights' among them: they are not read twice.
    let damage = model.provenance.as_ref().and_then(|record| record.difference(folder, progress));
    let recorded = match (&model.provenance, &damage) {
        (Some(record), None) => model
            .weights
            .strip_prefix(folder)
            .ok()
            // A list's digest is not that of the weights it lists.
            .filter(|name| name.ends_with(WEIGHTS))
            .and_then(|name| record.files.get(name.to_str()?))
            .map(|record| record.sha256.clone()),
        _ => None,
    };
    let weights_sha256 = match recorded {
        Some(digest) => digest,
        None => model.weights_sha256(progress)?.to_owned(),
    };
    let (dims, source) = (model.dims()?, model.weights_source());
    let Prompts { by_name: prompts, default_name: default_prompt } = model.prompts;
    let licence = model.provenance.as_ref().and_then(|record| record.origin.licence.clone());
    Ok(Inspection {
        folder: folder.to_path_buf(),
        family,
        architecture,
        dims,
        pooling: model.pooling.name(),
        normalize: model.normalize.unwrap_or(true),
        max_length: model.max_length,
        layers: ["num_hidden_layers", "n_layers", "n_layer"]
            .into_iter()
            .find_map(|name| model.config.get(name))
            .and_then(Value::as_u64),
        prompts,
        default_prompt,
        source,
        weights_sha256,
        licence,
        bytes: files.iter().map(|file| file.bytes).sum(),
        files,
        provenance: model.provenance.map(super::with_own_id),
        damage,
        fault: None,
    })
}

/// Describes a model as [`inspect`] does, and loads it: `fault` says why it cannot be served, if it cannot. The
/// weights are packed in memory for that; no cache is read or left behind.
///
/// # Errors
///
/// When the folder holds no model of a family that is served, or a file cannot be read.
pub fn inspect_and_load(folder: &Path, progress: &mut dyn Progress) -> Result<Inspection, LoadError> {
    let mut about = inspect(folder, progress)?;
    progress.start("load the model", None);
    about.fault = Model::load(folder, &LoadOptions::default()).err().map(|fault| fault.to_string());
    progress.finish();
    Ok(about)
}
