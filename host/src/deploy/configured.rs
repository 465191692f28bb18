//! The component's file that the configuration names.

use std::{fs, io, path::Path, sync::Arc};

use super::{DeployError, Deployment, HOST, Move, Proof, Record, Stage, VersionId, signature, vault::Blob};
use crate::{
    background,
    compile::ComponentDigest,
    config::slots::{ComponentSource, Slot as Settings},
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
    match fs::read_to_string(&beside) {
        Ok(text) => Ok((wasm, Proof::Signature(text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((wasm, Proof::None)),
        Err(error) => Err(format!("cannot read {}: {error}", beside.display())),
    }
}

/// A version of a changed file, which has passed its trial, and what the vault needs of it.
pub(super) struct Changed<W: World> {
    pub(super) record: Record,
    pub(super) version: Arc<Version<W>>,
    pub(super) blob: Blob,
}

impl<W: World> Deployment<W> {
    /// The configured file as a version under `settings`, where it holds another component than what answers because the
    /// configuration names it. A file that cannot be read is no change: what answers goes on.
    pub(super) async fn changed_file(
        &self,
        active: &Record,
        settings: &Arc<Settings>,
    ) -> Result<Option<Changed<W>>, DeployError> {
        let ComponentSource::File(path) = &settings.component else { return Ok(None) };
        if !active.configured {
            return Ok(None);
        }
        let (file, cap) = (path.clone(), self.slot.yard.sandbox.component_bytes);
        let signatures = settings.signatures.clone();
        let look = move || {
            let (wasm, proof) = read_configured(&file, cap)?;
            let signer = signature::signer(&signatures, &wasm, &proof);
            Ok((ComponentDigest::of(&wasm), wasm, proof, signer))
        };
        let looked: Result<_, String> = background::run(look).await.map_err(|_| DeployError::Stopping)?;
        let source = path.display().to_string();
        let (digest, wasm, proof, signer) = match looked {
            Ok(looked) => looked,
            Err(reason) => {
                let slot = self.slot.name().as_str();
                tracing::error!(
                    slot,
                    reason,
                    "the configured component cannot be read; the one that answers goes on"
                );
                return Ok(None);
            }
        };
        if digest.to_string() == active.component {
            return Ok(None);
        }
        let mut record = Record::new(digest, wasm.len(), &source, settings);
        let refused = |version: &VersionId, reason| DeployError::Refused { version: version.clone(), reason };
        if let Some(signed) = signer.map_err(|reason| refused(&record.id, reason))? {
            (record.signed_by, record.signed_at) = (Some(signed.by), signed.at);
        }
        let prepared = self.prepare(Arc::clone(&wasm), &source, Arc::clone(settings), |_| {}).await;
        let version = prepared.map_err(|reason| refused(&record.id, reason))?;
        record.configured = true;
        record.step(Move::now(Stage::Trialled, HOST, "the configured file has changed"));
        let signature = match proof {
            Proof::Signature(text) => Some(text),
            Proof::BuiltIn | Proof::None => None,
        };
        let blob = Blob { component: record.component.clone(), wasm, signature };
        Ok(Some(Changed { record, version, blob }))
    }
}
