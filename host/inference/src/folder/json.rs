//! The reader of a model's small JSON files.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::LoadError;

/// The largest configuration; without a limit a wrong file would fill memory.
pub const LIMIT: u64 = 4 << 20;

/// Reads a file that must be there.
///
/// # Errors
///
/// When it cannot be read, is larger than [`LIMIT`], is no JSON, or not of the shape asked for.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, LoadError> {
    let file = File::open(path).map_err(|source| LoadError::read(path, source))?;
    let mut text = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut text).map_err(|source| LoadError::read(path, source))?;
    if text.len() as u64 > LIMIT {
        return Err(LoadError::malformed(path, format!("larger than {LIMIT} bytes")));
    }
    serde_json::from_slice(&text).map_err(|fault| LoadError::malformed(path, fault.to_string()))
}

/// Reads a file that may be missing.
///
/// # Errors
///
/// As [`read`], except that a missing file is `None`.
pub fn read_optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, LoadError> {
    match read(path) {
        Ok(value) => Ok(Some(value)),
        Err(LoadError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}
