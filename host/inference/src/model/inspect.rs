//! Inspection of a model by loading it.

use std::path::Path;

use super::{LoadOptions, Model};
use crate::error::LoadError;
use crate::progress::Progress;
use crate::source::{self, Inspection};

/// Describes a model as [`source::inspect`] does, and loads it: `fault` says why it cannot be served, if it cannot. The
/// weights are packed in memory for that; no cache is read or left behind.
///
/// # Errors
///
/// When the folder holds no model of a family that is served, or a file cannot be read.
pub fn inspect(folder: &Path, progress: &mut dyn Progress) -> Result<Inspection, LoadError> {
    let mut about = source::inspect(folder, progress)?;
    progress.start("load the model", None);
    about.fault = Model::load(folder, &LoadOptions::default()).err().map(|fault| fault.to_string());
    progress.finish();
    Ok(about)
}
