//! The component that is part of the binary, and the export of versions.

use std::sync::Arc;

use bulkhead_runtime::background;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::World;

use super::{DeployError, Deployment, EMBEDDED, Exported, Proof, VersionRecord};

impl<W: World> Deployment<W> {
    /// Returns the version that a name refers to. For [`EMBEDDED`] that is the remembered version of the built-in
    /// component, or a new one that has passed its trial.
    pub(super) async fn resolve_name(&self, name: &str, actor: &str) -> Result<String, DeployError> {
        if name != EMBEDDED {
            return Ok(name.to_owned());
        }
        let wasm = self.built_in()?;
        let identified =
            self.identify(Arc::clone(&wasm), EMBEDDED, Proof::BuiltIn, &self.slot.settings()).await;
        let record = identified?.record;
        if self.state().get(&record.id).is_some_and(VersionRecord::is_tried) {
            return Ok(record.id.to_string());
        }
        let pushed = self.ingest(wasm, EMBEDDED, Proof::BuiltIn, actor, &|_| {}).await?;
        Ok(pushed.record.id.to_string())
    }

    /// Returns the bytes of a remembered version or of the component that is part of the binary.
    pub(super) async fn export_version(&self, name: &str) -> Result<Exported, DeployError> {
        let wasm = match name {
            EMBEDDED => self.built_in()?,
            name => self.component(&self.find_version(name)?).await?,
        };
        let hashed = Arc::clone(&wasm);
        let component = background::run(move || ComponentDigest::of(&hashed)).await;
        Ok(Exported { component: component.map_err(|_| DeployError::Stopping)?, wasm })
    }

    fn built_in(&self) -> Result<Arc<[u8]>, DeployError> {
        let slot = self.slot.name();
        let none = || DeployError::UnknownVersion { slot: slot.as_str(), name: EMBEDDED.to_owned() };
        self.store.built_in(slot).map(Arc::from).ok_or_else(none)
    }
}
