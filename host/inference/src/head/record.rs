//! The record of a head: its labels, and the model whose vectors it was trained on.

use serde::{Deserialize, Serialize};

use crate::model::Description;

/// The version of the format that is written; no other is read.
pub const FORMAT: u32 = 1;

/// A head's record, JSON in its file's metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Canonical id of the model whose vectors the head takes, as it was called in training.
    pub model_id: String,
    /// SHA-256 of that model's weights file, hex.
    pub weights_sha256: String,
    /// The element type of that model's arithmetic.
    pub dtype: String,
    /// The prompt that was put before each text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// Length of a vector.
    pub dims: usize,
    /// The class of each row of weights `[r]`, those of one class together: classes in the order of the
    /// probabilities.
    pub labels: Vec<String>,
    /// How scores become probabilities.
    pub link: Link,
    /// Settings of the component that makes sparse features from a text; present if the head has weights for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<serde_json::Value>,
}

/// One of a model's prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// How calibrated scores become probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// One class is right: probabilities of a row sum to 1. Calibrated by temperature t, a class's scale is 1/t.
    Softmax,
    /// Each class for itself (one versus rest). Calibrated after Platt.
    Sigmoid,
}

/// A head that does not belong to the model that is loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the head was trained with {what} `{trained}`, the model that is loaded has `{loaded}`; \
     train it again with `bulkhead triage train`"
)]
pub struct Mismatch {
    /// What differs.
    pub what: &'static str,
    /// What it was in training.
    pub trained: String,
    /// What it is now.
    pub loaded: String,
}

impl Record {
    /// Checks that the head may be used with a loaded model. The digest of the weights says which model it is, whatever
    /// its id is now.
    ///
    /// # Errors
    ///
    /// When vectors of that model are not those of training.
    pub fn check(&self, model: &Description) -> Result<(), Mismatch> {
        let same = |what, trained: &str, loaded: &str| match trained == loaded {
            true => Ok(()),
            false => Err(Mismatch { what, trained: trained.to_owned(), loaded: loaded.to_owned() }),
        };
        same("weights sha256", &self.weights_sha256, &model.weights_sha256)?;
        same("dtype", &self.dtype, &model.dtype)?;
        same("dims", &self.dims.to_string(), &model.dims.to_string())?;
        let Some(Prompt { name, text }) = &self.prompt else { return Ok(()) };
        let loaded = model.prompts.get(name).map_or("no prompt of this name", String::as_str);
        match loaded == text {
            true => Ok(()),
            false => Err(Mismatch {
                what: "prompt",
                trained: format!("{name}: {text}"),
                loaded: format!("{name}: {loaded}"),
            }),
        }
    }
}
