//! The configuration of a static model.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::LoadError;

/// Tokens of a text that count when the configuration does not say (Python `model2vec` 0.10).
const MAX_LENGTH: usize = 512;

/// The part of a configuration that inference uses; the rest describes how the model was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Config {
    /// `null` means without limit.
    #[serde(default = "max_length")]
    pub(super) max_length: Option<usize>,
}

impl Config {
    pub(super) fn read(path: &Path) -> Result<Self, LoadError> {
        let bytes = std::fs::read(path).map_err(|source| LoadError::read(path, source))?;
        let malformed = |fault: serde_json::Error| LoadError::malformed(path, fault.to_string());
        // A list would do for a structure of one member.
        let members: Map<String, Value> = serde_json::from_slice(&bytes).map_err(malformed)?;
        Self::deserialize(Value::Object(members)).map_err(malformed)
    }
}

fn max_length() -> Option<usize> {
    Some(MAX_LENGTH)
}
