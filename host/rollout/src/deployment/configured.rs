//! The component that the configuration names, and the file that it comes from.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use bulkhead_config::slots::{ComponentSource, SlotSettings as Settings};
use bulkhead_os::files;
use bulkhead_runtime::background;
use bulkhead_runtime::slots::{Version, World, read_component};

use super::{
    Deployment,
    prepare::{IdentifiedComponent, LoadedVersion, PrepareError},
};
use crate::{DeployError, HOST, Move, Proof, Stage, VersionRecord, state::Blob};

/// The component that the configuration names: its bytes, source and proof.
pub(super) type ConfiguredComponent = (Arc<[u8]>, String, Proof);

/// The configured component, or why it cannot be read.
pub type ConfiguredResult = Result<ConfiguredComponent, String>;

/// Reads a component file of at most `cap` bytes, and the signature file beside it.
///
/// # Errors
/// Why one of them cannot be read.
pub fn read_configured(path: &Path, cap: usize) -> Result<(Arc<[u8]>, Proof), String> {
    let wasm = read_component(path, cap).map_err(|error| error.to_string())?;
    let mut signature_path = path.as_os_str().to_owned();
    signature_path.push(".minisig");
    let signature_path = PathBuf::from(signature_path);
    match files::read_text(&signature_path) {
        Ok(text) => Ok((wasm, Proof::Signature(text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((wasm, Proof::None)),
        Err(error) => Err(format!("cannot read {}: {error}", signature_path.display())),
    }
}

/// The content of the configured file compared with the active version.
pub(super) enum ConfiguredFile<W: World> {
    /// The same component, or the slot has no file or runs a pushed version.
    Same,
    /// Another component, which has passed its self-test.
    Other(Box<ChangedFile<W>>),
    /// The file cannot be read, and why.
    Unreadable(String),
}

/// A version of a changed file that has passed its self-test, and the bytes to store.
pub(super) struct ChangedFile<W: World> {
    pub(super) record: VersionRecord,
    pub(super) version: Arc<Version<W>>,
    pub(super) blob: Blob,
}

/// Reason of a version of the file that replaces another one.
const CHANGED: &str = "the configured file has changed";
/// Reason of a version of the file in an empty slot.
const NAMED: &str = "the configuration names it";

impl<W: World> Deployment<W> {
    /// Records why the configured file is unusable; `None` if it is usable.
    pub(super) fn set_file_fault(&self, reason: Option<String>) {
        *self.file_fault.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    /// Returns why the configured file is unusable while a stored copy of it answers.
    pub(super) fn file_fault(&self) -> Option<String> {
        let is_configured = self.state().active().is_some_and(|active| active.configured);
        let fault = self.file_fault.lock().unwrap_or_else(PoisonError::into_inner).clone();
        fault.filter(|_| is_configured)
    }

    /// Reads the configured file and prepares it under `settings`, if the active version comes from the
    /// configuration and has another component, or if the slot is empty.
    pub(super) async fn read_configured_file(
        &self,
        active: Option<&VersionRecord>,
        settings: &Arc<Settings>,
    ) -> Result<ConfiguredFile<W>, DeployError> {
        let ComponentSource::File(path) = &settings.component else { return Ok(ConfiguredFile::Same) };
        if active.is_some_and(|active| !active.configured) {
            return Ok(ConfiguredFile::Same);
        }
        let (file, cap) = (path.clone(), self.slot.context.sandbox.component_bytes);
        let read = background::run(move || read_configured(&file, cap)).await;
        let (wasm, proof) = match read.map_err(|_| DeployError::Stopping)? {
            Ok(read) => read,
            Err(reason) => return Ok(ConfiguredFile::Unreadable(reason)),
        };
        let source = path.display().to_string();
        let IdentifiedComponent { mut record, signer, blob } =
            self.identify(wasm, &source, proof, settings).await?;
        if active.is_some_and(|active| record.component == active.component) {
            return Ok(ConfiguredFile::Same);
        }
        let refused = |reason: String| {
            let reason = format!("{source}: {reason}");
            DeployError::Refused { version: record.id.clone(), reason }
        };
        signer.map_err(refused)?;
        let prepared = self.prepare(Arc::clone(&blob.wasm), &source, Arc::clone(settings), |_| {}).await;
        let version = prepared.map_err(|error| match error {
            PrepareError::Refused(reason) => refused(reason),
            uncompiled @ PrepareError::Uncompiled(_) => uncompiled.into_deploy_error(&record.id),
        })?;
        record.configured = true;
        record.step(Move::now(Stage::Trialled, HOST, if active.is_some() { CHANGED } else { NAMED }));
        Ok(ConfiguredFile::Other(Box::new(ChangedFile { record, version, blob })))
    }

    /// Loads the component that the configuration names now.
    pub(super) async fn load_configured(
        &self,
        configured: impl Future<Output = ConfiguredResult>,
    ) -> Result<LoadedVersion<W>, PrepareError> {
        let named = configured.await?;
        let (wasm, source, proof) = named.clone();
        let settings = self.slot.settings();
        let identified = self.identify(wasm, &source, proof, &settings).await;
        let IdentifiedComponent { mut record, signer, blob } =
            identified.map_err(|error| error.to_string())?;
        let is_file = matches!(settings.component, ComponentSource::File(_));
        let of_file = |reason| if is_file { format!("{source}: {reason}") } else { reason };
        signer.map_err(of_file)?;
        record.configured = true;
        let prepared = self.prepare(Arc::clone(&blob.wasm), &source, settings, |_| {}).await;
        if !matches!(prepared, Err(PrepareError::Refused(_))) {
            *self.configured_blob.lock().unwrap_or_else(PoisonError::into_inner) = Some(blob);
        }
        let is_uncompiled = matches!(prepared, Err(PrepareError::Uncompiled(_)));
        self.set_uncompiled_configured(is_uncompiled.then_some(named));
        let version = prepared.map_err(|error| match error {
            PrepareError::Refused(reason) => PrepareError::Refused(of_file(reason)),
            uncompiled @ PrepareError::Uncompiled(_) => uncompiled,
        })?;
        Ok((record, version))
    }
}
