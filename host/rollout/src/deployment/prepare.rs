//! Preparation of versions: a component is identified, checked, compiled and tried before it may answer.

mod signature_check;

use std::sync::{Arc, PoisonError};

use bulkhead_config::slots::SlotSettings as Settings;
use bulkhead_runtime::background;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::invoke;
use bulkhead_runtime::slots::{Version, VersionLoadError, World};

use super::Deployment;
use crate::{DeployError, Proof, Stage, VersionId, VersionRecord, signature, state::Blob};

/// The record of a version and its loaded code.
pub(super) type LoadedVersion<W> = (VersionRecord, Arc<Version<W>>);

/// A component whose digest and signature have been checked.
pub(super) struct IdentifiedComponent {
    pub(super) record: VersionRecord,
    /// Why its signature does not allow it to answer.
    pub(super) signer: Result<(), String>,
    /// The bytes and signature to store.
    pub(super) blob: Blob,
}

/// Why a component is not ready to answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum PrepareError {
    /// It may not answer.
    #[error("{0}")]
    Refused(String),
    /// It was not compiled for a temporary reason: the process was killed, or had too little time or memory.
    #[error("{0}")]
    Uncompiled(String),
}

impl From<String> for PrepareError {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

impl From<DeployError> for PrepareError {
    fn from(error: DeployError) -> Self {
        match error {
            DeployError::Uncompiled { reason, .. } => Self::Uncompiled(reason),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl PrepareError {
    /// Adds the version to the error.
    pub(super) fn into_deploy_error(self, version: &VersionId) -> DeployError {
        let version = version.clone();
        match self {
            Self::Refused(reason) => DeployError::Refused { version, reason },
            Self::Uncompiled(reason) => DeployError::Uncompiled { version, reason },
        }
    }
}

impl<W: World> Deployment<W> {
    /// Identifies a component: its version under `settings`, and whether its signature allows it to answer.
    pub(super) async fn identify(
        &self,
        wasm: Arc<[u8]>,
        source: &str,
        proof: Proof,
        settings: &Settings,
    ) -> Result<IdentifiedComponent, DeployError> {
        let (signatures, hashed, slot) = (settings.signatures.clone(), Arc::clone(&wasm), self.slot.name());
        let store = Arc::clone(&self.store);
        let look = move || {
            let digest = ComponentDigest::of(&hashed);
            let proof = proof.or_built_in(&store, slot, digest);
            (digest, signature::verify(&signatures, &hashed, &proof), proof.signature())
        };
        let looked = background::run(look).await;
        let (digest, signer, signature) = looked.map_err(|_| DeployError::Stopping)?;
        let mut record = VersionRecord::new(digest, wasm.len(), source, settings);
        if let Ok(Some(signed)) = &signer {
            (record.signed_by, record.signed_at) = (Some(signed.by.clone()), signed.at);
        }
        let blob = Blob { component: record.component.clone(), wasm, signature };
        Ok(IdentifiedComponent { record, signer: signer.map(drop), blob })
    }

    /// Checks, compiles, links and tries a component under `settings`, and reports each stage that it passes.
    pub(super) async fn prepare(
        &self,
        wasm: Arc<[u8]>,
        source: &str,
        settings: Arc<Settings>,
        mut passed: impl FnMut(Stage),
    ) -> Result<Arc<Version<W>>, PrepareError> {
        let failed = |error: VersionLoadError| {
            let is_passing = matches!(&error, VersionLoadError::Compile(error) if !error.is_refusal());
            let reason = format!("{:#}", anyhow::Error::from(error));
            if is_passing { PrepareError::Uncompiled(reason) } else { PrepareError::Refused(reason) }
        };
        let digest = self.slot.check(Arc::clone(&wasm), &settings).await.map_err(failed)?;
        passed(Stage::Checked);
        let version = self.slot.compile(wasm, digest, source, settings).await.map_err(failed)?;
        passed(Stage::Compiled);
        let trial = invoke::run_self_test(&self.slot, &version).await;
        trial.map_err(|word| format!("the component's self-test failed: {word}"))?;
        passed(Stage::Trialled);
        Ok(version)
    }

    /// Returns the settings of a revision that this host has had, or else the current ones.
    fn settings_of(&self, revision: &str) -> Arc<Settings> {
        let revisions = self.revisions.lock().unwrap_or_else(PoisonError::into_inner);
        revisions.get(revision).cloned().unwrap_or_else(|| self.slot.settings())
    }

    /// Prepares a remembered version to answer again, under its own settings if they are known.
    pub(super) async fn revive(&self, record: &VersionRecord) -> Result<Arc<Version<W>>, DeployError> {
        self.check_signature(record).await?;
        let wasm = self.component(record).await?;
        self.prepare(wasm, &record.source, self.settings_of(&record.revision), |_| {})
            .await
            .map_err(|error| error.into_deploy_error(&record.id))
    }

    /// Loads a remembered version and records it under the settings that it has now.
    pub(super) async fn reload_version(
        &self,
        record: VersionRecord,
    ) -> Result<LoadedVersion<W>, DeployError> {
        let version = self.revive(&record).await?;
        let mut now = VersionRecord::new(version.digest, record.bytes, &record.source, &self.slot.settings());
        now.signed_by.clone_from(&record.signed_by);
        now.signed_at = record.signed_at;
        now.configured = record.configured;
        if now.id == record.id {
            return Ok((record, version));
        }
        Ok((now, version))
    }
}
