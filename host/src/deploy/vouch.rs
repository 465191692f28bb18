//! Whether a version that is remembered may answer under its slot's signature rules.

use std::sync::Arc;

use super::{DeployError, Deployment, Proof, Record, signature};
use crate::{
    background,
    config::signatures::{Policy, Signatures},
    slots::World,
};

impl<W: World> Deployment<W> {
    /// Whether somebody vouches for a version whom this slot trusts.
    pub(super) async fn vouched(&self, record: &Record) -> Result<(), DeployError> {
        self.vouched_by(&self.slot.settings().signatures, record).await
    }

    /// The same under other rules. What this host has written by itself says who signed a component; what came from a
    /// database that hosts share says whatever somebody has written there, so that the signature itself counts.
    pub(super) async fn vouched_by(
        &self,
        signatures: &Signatures,
        record: &Record,
    ) -> Result<(), DeployError> {
        if signatures.policy != Policy::Required {
            return Ok(());
        }
        let refused = |reason| DeployError::Refused { version: record.id.clone(), reason };
        let is_own = self.shared.is_none() && self.book().stamp.is_none();
        if is_own && signature::still(signatures, record.signed_by.as_deref()).is_ok() {
            return Ok(());
        }
        let (vault, slot, component) = (Arc::clone(&self.vault), self.slot.name(), record.component.clone());
        let look = move || vault.carries(slot, &component) || vault.was_built_in(slot, &component);
        if background::run(look).await.map_err(|_| DeployError::Stopping)? {
            return Ok(());
        }
        let unsigned = || signature::still(signatures, None).map_err(refused);
        let blob = match (self.kept(&record.component).await, &self.shared) {
            (Ok(blob), _) => blob,
            (Err(_), Some(shared)) => self.fetch(shared, record).await?,
            (Err(_), None) => return unsigned(),
        };
        let Some(text) = blob.signature else { return unsigned() };
        let rules = signatures.clone();
        let look = move || signature::signer(&rules, &blob.wasm, &Proof::Signature(text)).map(drop);
        background::run(look).await.map_err(|_| DeployError::Stopping)?.map_err(refused)
    }
}
