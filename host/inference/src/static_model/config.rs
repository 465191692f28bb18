//! What a static model's configuration says.

use std::path::Path;

use serde::Deserialize;

use crate::error::LoadError;

/// Tokens of a text that count when the configuration does not say (Python `model2vec` 0.10).
const MAX_LENGTH: usize = 512;

/// What inference takes from a configuration; the rest of it tells how the model was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Config {
    /// `null` means without limit.
    #[serde(default = "max_length")]
    pub(super) max_length: Option<usize>,
}

impl Config {
    pub(super) fn read(path: &Path) -> Result<Self, LoadError> {
        let bytes = std::fs::read(path).map_err(|source| LoadError::read(path, source))?;
        serde_json::from_slice(&bytes).map_err(|fault| LoadError::malformed(path, fault.to_string()))
    }
}

fn max_length() -> Option<usize> {
    Some(MAX_LENGTH)
}
