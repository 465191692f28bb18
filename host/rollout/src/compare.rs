//! Comparison of two remembered versions.

use std::sync::Arc;

use bulkhead_runtime::background;
use bulkhead_runtime::slots::{Outline, World, outline};

use super::{DeployError, Deployment, VersionDiff, VersionRecord};

impl<W: World> Deployment<W> {
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
}
