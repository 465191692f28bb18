//! The check whether a remembered version may answer under its slot's signature rules.

use std::sync::Arc;

use bulkhead_config::signatures::{SignaturePolicy, Signatures};
use bulkhead_runtime::background;
use bulkhead_runtime::slots::World;

use crate::{DeployError, Deployment, Proof, VersionRecord, signature};

impl<W: World> Deployment<W> {
    /// Checks that a version is signed by a key that its slot trusts.
    pub(in crate::deployment) async fn check_signature(
        &self,
        record: &VersionRecord,
    ) -> Result<(), DeployError> {
        self.check_signature_under(&self.slot.settings().signatures, record).await
    }

    /// Checks a version under other rules. The record of the signer is trusted only if this host has written it; a
    /// record from the shared database may have been edited, so the signature itself is verified.
    pub(in crate::deployment) async fn check_signature_under(
        &self,
        signatures: &Signatures,
        record: &VersionRecord,
    ) -> Result<(), DeployError> {
        if signatures.policy != SignaturePolicy::Required {
            return Ok(());
        }
        let refused = |reason| DeployError::Refused { version: record.id.clone(), reason };
        let is_own = self.shared.is_none() && self.state().stamp.is_none();
        if is_own && signature::check_signer(signatures, record.signed_by.as_deref()).is_ok() {
            return Ok(());
        }
        let (store, slot, component) = (Arc::clone(&self.store), self.slot.name(), record.component.clone());
        let look = move || store.is_built_in(slot, &component) || store.was_built_in(slot, &component);
        if background::run(look).await.map_err(|_| DeployError::Stopping)? {
            return Ok(());
        }
        let unsigned = || signature::check_signer(signatures, None).map_err(refused);
        let blob = match (self.stored_blob(&record.component).await, &self.shared) {
            (Ok(blob), _) => blob,
            (Err(_), Some(shared)) => self.fetch(shared, record).await?,
            (Err(_), None) => return unsigned(),
        };
        let Some(text) = blob.signature else { return unsigned() };
        let rules = signatures.clone();
        let look = move || signature::verify(&rules, &blob.wasm, &Proof::Signature(text)).map(drop);
        background::run(look).await.map_err(|_| DeployError::Stopping)?.map_err(refused)
    }
}
