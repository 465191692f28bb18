//! Precompilation: the compiled code of the versions that answer and of the predecessor is kept in the cache.

use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::World;
use bulkhead_telemetry::one_line;

use crate::{Deployment, SlotState};

impl<W: World> Deployment<W> {
    /// Keeps the compiled code of the active version, the candidate and the predecessor of `state` in the cache.
    /// After the start the predecessor is compiled in the background if the cache lacks it.
    pub(in crate::deployment) fn keep_compiled(&self, state: &SlotState) {
        let compiler = &self.slot.context.compiler;
        let candidate = state.candidate.as_ref().and_then(|candidate| state.get(&candidate.version));
        let needed = [state.active(), candidate, state.predecessor()].into_iter().flatten();
        let digests = needed.filter_map(|record| ComponentDigest::parse(&record.component));
        compiler.retain(self.slot.name(), digests.collect());
        if compiler.evicts() && state.predecessor().is_some() {
            let deployment = self.weak();
            self.spawn(async move {
                if let Some(deployment) = deployment.upgrade() {
                    deployment.precompile_predecessor().await;
                }
            });
        }
    }

    /// Compiles the predecessor of the active version if the cache lacks it.
    pub(in crate::deployment) async fn precompile_predecessor(&self) {
        let state = self.state();
        let Some(record) = state.predecessor() else { return };
        let compiler = &self.slot.context.compiler;
        let Some(digest) = ComponentDigest::parse(&record.component) else { return };
        if !compiler.lacks(digest).await {
            return;
        }
        let (slot, version) = (self.slot.name().as_str(), record.id.as_str());
        let compiled = match self.component(record).await {
            Ok(wasm) => compiler.compile(wasm, digest).await.map(drop).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match compiled {
            Ok(()) => tracing::info!(slot, version, "the version that a rollback returns to is compiled"),
            Err(reason) => {
                tracing::warn!(
                    slot,
                    version,
                    reason = one_line(&reason),
                    "the version that a rollback returns to is not compiled"
                );
            }
        }
    }
}
