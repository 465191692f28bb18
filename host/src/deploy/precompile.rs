//! Compiled code that a slot needs at once: of what answers, and of what a rollback goes back to.

use super::{Book, Deployment};
use crate::{compile::ComponentDigest, slots::World, telemetry::one_line};

impl<W: World> Deployment<W> {
    /// Keeps in the cache the compiled code of the active version, the candidate and the predecessor of `book`. Once the
    /// host has started, the predecessor is compiled in the background where the cache does not have it.
    pub(super) fn keep_compiled(&self, book: &Book) {
        let compiler = &self.slot.yard.compiler;
        let candidate = book.candidate.as_ref().and_then(|candidate| book.get(&candidate.version));
        let needed = [book.active(), candidate, book.predecessor()].into_iter().flatten();
        let digests = needed.filter_map(|record| ComponentDigest::parse(&record.component));
        compiler.retain(self.slot.name(), digests.collect());
        if compiler.evicts() && book.predecessor().is_some() {
            let deployment = self.weak();
            self.spawn(async move {
                if let Some(deployment) = deployment.upgrade() {
                    deployment.precompile_predecessor().await;
                }
            });
        }
    }

    /// Compiles the predecessor of the active version, where the cache does not have it.
    pub(super) async fn precompile_predecessor(&self) {
        let book = self.book();
        let Some(record) = book.predecessor() else { return };
        let compiler = &self.slot.yard.compiler;
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
            Ok(()) => tracing::info!(slot, version, "the version that a rollback goes back to is compiled"),
            Err(reason) => {
                tracing::warn!(
                    slot,
                    version,
                    reason = one_line(&reason),
                    "the version that a rollback goes back to is not compiled"
                );
            }
        }
    }
}
