//! The components of versions: their bytes, which are in the local store, in the shared database or in the binary,
//! their export and their comparison.

use std::sync::{Arc, PoisonError};

use bulkhead_runtime::background;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::{Outline, World, outline};

use super::Deployment;
use crate::{
    DeployError, EMBEDDED, Exported, Proof, SharedState, SharedStoreError, VersionDiff, VersionRecord,
    signature, state::Blob,
};

impl<W: World> Deployment<W> {
    /// Returns the bytes of a version's component.
    pub(super) async fn component(&self, record: &VersionRecord) -> Result<Arc<[u8]>, DeployError> {
        let configured_blob = self.configured_blob.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(blob) = configured_blob.filter(|blob| blob.component == record.component) {
            return Ok(blob.wasm);
        }
        let (store, slot, component) = (Arc::clone(&self.store), self.slot.name(), record.component.clone());
        let cap = self.slot.context.sandbox.component_bytes;
        let read = move || store.component(slot, &component, cap);
        let kept = background::run(read).await.map_err(|_| DeployError::Stopping)?;
        match (kept, &self.shared) {
            (Err(_), Some(shared)) => {
                let blob = self.fetch(shared, record).await?;
                let wasm = Arc::clone(&blob.wasm);
                self.fetched_blobs.lock().unwrap_or_else(PoisonError::into_inner).push(blob);
                Ok(wasm)
            }
            (kept, _) => Ok(kept?),
        }
    }

    /// Returns a component with its signature, from the local store or from those that the next change stores.
    pub(super) async fn stored_blob(&self, component: &str) -> Result<Blob, DeployError> {
        let configured_blob = self.configured_blob.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(blob) = configured_blob.filter(|blob| blob.component == component) {
            return Ok(blob);
        }
        let (store, slot, component) = (Arc::clone(&self.store), self.slot.name(), component.to_owned());
        let cap = self.slot.context.sandbox.component_bytes;
        let read = move || store.blob(slot, &component, cap);
        Ok(background::run(read).await.map_err(|_| DeployError::Stopping)??)
    }

    /// Returns the bytes of the embedded component.
    pub(super) fn built_in(&self) -> Result<Arc<[u8]>, DeployError> {
        let slot = self.slot.name();
        let none = || DeployError::UnknownVersion { slot: slot.as_str(), name: EMBEDDED.to_owned() };
        self.slot.settings().spec.component.map(Arc::from).ok_or_else(none)
    }

    /// Returns the bytes of a remembered version or of the embedded component.
    pub(super) async fn export_version(&self, name: &str) -> Result<Exported, DeployError> {
        let wasm = match name {
            EMBEDDED => self.built_in()?,
            name => self.component(&self.find_version(name)?).await?,
        };
        let hashed = Arc::clone(&wasm);
        let component = background::run(move || ComponentDigest::of(&hashed)).await;
        Ok(Exported { component: component.map_err(|_| DeployError::Stopping)?, wasm })
    }

    /// Compares two remembered versions.
    pub(super) async fn compare_versions(&self, a: &str, b: &str) -> Result<VersionDiff, DeployError> {
        let (a, b) = (self.find_version(a)?, self.find_version(b)?);
        let (of_a, of_b) = (self.outline(&a).await?, self.outline(&b).await?);
        let capabilities = &self.slot.context.capabilities;
        // A deprecated name is the same interface.
        let named_now = |import: &str| capabilities.named_now(import);
        Ok(VersionDiff::new(self.slot.name().as_str(), (&a, &of_a), (&b, &of_b), named_now))
    }

    async fn outline(&self, record: &VersionRecord) -> Result<Outline, DeployError> {
        let wasm: Arc<[u8]> = self.component(record).await?;
        let read = background::run(move || outline(&wasm));
        let refused = |reason| DeployError::Refused { version: record.id.clone(), reason };
        read.await.map_err(|_| DeployError::Stopping)?.map_err(refused)
    }

    /// Fetches a component from the shared database and checks its signature against the slot's rules.
    pub(super) async fn fetch(
        &self,
        shared: &SharedState,
        record: &VersionRecord,
    ) -> Result<Blob, DeployError> {
        let (slot, cap) = (self.slot.name(), self.slot.context.sandbox.component_bytes);
        let blob = match shared.store.component(slot, &record.component, cap).await {
            Err(error @ SharedStoreError::MissingComponent(_)) => {
                let reason = error.to_string();
                return Err(DeployError::Refused { version: record.id.clone(), reason });
            }
            blob => blob?,
        };
        let (signatures, checked) = (self.slot.settings().signatures.clone(), blob.clone());
        let store = Arc::clone(&self.store);
        let verify = move || {
            let digest = ComponentDigest::of(&checked.wasm);
            if digest.to_string() != checked.component {
                return Err(
                    "its bytes in the shared database do not match its digest; push it again".to_owned()
                );
            }
            let proof = checked.signature.map_or(Proof::None, Proof::Signature);
            let proof = proof.or_built_in(&store, slot, digest);
            signature::verify(&signatures, &checked.wasm, &proof).map(drop)
        };
        let verified = background::run(verify).await.map_err(|_| DeployError::Stopping)?;
        verified.map_err(|reason| DeployError::Refused { version: record.id.clone(), reason })?;
        Ok(blob)
    }

    /// Fetches every missing component that the state names, one at a time, so that this host can return to each
    /// without the database.
    pub(super) async fn fetch_missing(&self, shared: &SharedState) -> Result<(), DeployError> {
        let (slot, state) = (self.slot.name(), self.state());
        for record in
            state.versions.iter().filter(|record| !self.store.has_component(slot, &record.component))
        {
            match self.fetch(shared, record).await {
                Ok(blob) => {
                    let store = Arc::clone(&self.store);
                    let add = move || store.add_blob(slot, &blob);
                    background::run(add).await.map_err(|_| DeployError::Stopping)??;
                }
                // It may not answer here or is not in the database; a retry would not change that.
                Err(DeployError::Refused { version, reason }) => {
                    tracing::debug!(
                        slot = slot.as_str(),
                        version = version.as_str(),
                        reason,
                        "the component is not stored"
                    );
                }
                Err(error) => return Err(error),
            }
        }
        self.replication.lock().unwrap_or_else(PoisonError::into_inner).is_incomplete = false;
        Ok(())
    }
}
