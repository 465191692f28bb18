//! The component's file that the configuration names.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use super::{
    DeployError, Deployment, HOST, Move, Proof, Record, Stage, deployment::Identified,
    uncompiled::Unprepared, vault::Blob,
};
use crate::{
    background,
    config::slots::{ComponentSource, Slot as Settings},
    files,
    slots::{Version, World, read_component},
};

/// A component's file of at most `cap` bytes, and the signature that lies beside it.
///
/// # Errors
/// Why one of them cannot be read.
pub fn read_configured(path: &Path, cap: usize) -> Result<(Arc<[u8]>, Proof), String> {
    let wasm = read_component(path, cap).map_err(|error| error.to_string())?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".minisig");
    let beside = PathBuf::from(beside);
    match files::read_text(&beside) {
        Ok(text) => Ok((wasm, Proof::Signature(text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((wasm, Proof::None)),
        Err(error) => Err(format!("cannot read {}: {error}", beside.display())),
    }
}

/// What the configured file holds beside what answers.
pub(super) enum InFile<W: World> {
    /// Nothing else, or the slot has no file, or answers with what was pushed.
    Same,
    /// Another component, which has passed its trial.
    Other(Box<Changed<W>>),
    /// Nothing that can be read, and why.
    Unreadable(String),
}

/// A version of a changed file, which has passed its trial, and what the vault needs of it.
pub(super) struct Changed<W: World> {
    pub(super) record: Record,
    pub(super) version: Arc<Version<W>>,
    pub(super) blob: Blob,
}

/// Why a version of the file comes after another one.
const CHANGED: &str = "the configured file has changed";
/// Why it comes where nothing answers.
const NAMED: &str = "the configuration names it";

impl<W: World> Deployment<W> {
    /// Notes why the configured file is of no use, or that it is.
    pub(super) fn set_file_fault(&self, reason: Option<String>) {
        *self.file_fault.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    /// Why the configured file is of no use, while a kept copy of it answers.
    pub(super) fn file_fault(&self) -> Option<String> {
        let is_configured = self.book().active().is_some_and(|active| active.configured);
        let fault = self.file_fault.lock().unwrap_or_else(PoisonError::into_inner).clone();
        fault.filter(|_| is_configured)
    }

    /// The configured file as a version under `settings`, where it holds another component than what answers because the
    /// configuration names it, or where nothing answers.
    pub(super) async fn in_file(
        &self,
        active: Option<&Record>,
        settings: &Arc<Settings>,
    ) -> Result<InFile<W>, DeployError> {
        let ComponentSource::File(path) = &settings.component else { return Ok(InFile::Same) };
        if active.is_some_and(|active| !active.configured) {
            return Ok(InFile::Same);
        }
        let (file, cap) = (path.clone(), self.slot.yard.sandbox.component_bytes);
        let read = background::run(move || read_configured(&file, cap)).await;
        let (wasm, proof) = match read.map_err(|_| DeployError::Stopping)? {
            Ok(read) => read,
            Err(reason) => return Ok(InFile::Unreadable(reason)),
        };
        let source = path.display().to_string();
        let Identified { mut record, signer, blob } = self.identify(wasm, &source, proof, settings).await?;
        if active.is_some_and(|active| record.component == active.component) {
            return Ok(InFile::Same);
        }
        let refused = |reason: String| {
            let reason = format!("{source}: {reason}");
            DeployError::Refused { version: record.id.clone(), reason }
        };
        signer.map_err(refused)?;
        let prepared = self.prepare(Arc::clone(&blob.wasm), &source, Arc::clone(settings), |_| {}).await;
        let version = prepared.map_err(|error| match error {
            Unprepared::Refused(reason) => refused(reason),
            uncompiled @ Unprepared::Uncompiled(_) => uncompiled.of(&record.id),
        })?;
        record.configured = true;
        record.step(Move::now(Stage::Trialled, HOST, if active.is_some() { CHANGED } else { NAMED }));
        Ok(InFile::Other(Box::new(Changed { record, version, blob })))
    }
}
