//! Puts a component into its slot, or says why it may not answer.

use std::sync::Arc;

use anyhow::Context as _;
use bulkhead_config::slots::ComponentSource;
use bulkhead_rollout::registry::Pulled;
use bulkhead_rollout::{Deployment, EMBEDDED, Proof, read_configured};
use bulkhead_runtime::invoke;
use bulkhead_runtime::slots::{LoadError, Slot, Version, World};

use super::context::Context;

/// A component that may not answer, and everything that is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum MayNotAnswer {
    /// Found before it ran.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It has failed its own test.
    #[error("the component's self-test failed: {0}")]
    SelfTest(String),
}

/// Runs every check that comes before a component's first answer.
///
/// # Errors
/// Everything that is wrong with it.
pub async fn try_out<W: World>(
    slot: &Slot<W>,
    wasm: Arc<[u8]>,
    source: &str,
) -> Result<Arc<Version<W>>, MayNotAnswer> {
    let version = slot.prepare(wasm, source).await?;
    let trial = invoke::run_self_test(slot, &version).await;
    trial.map_err(MayNotAnswer::SelfTest)?;
    Ok(version)
}

impl Context {
    /// Puts into `slot` what answered last, or what the configuration names, or says in log and readiness why nothing
    /// answers. From then on operators may change it.
    pub async fn fill<W: World>(&self, slot: &Arc<Slot<W>>) {
        let deployment = Deployment::new(
            Arc::clone(slot),
            Arc::clone(self.deployments.store()),
            self.deployments.shared().cloned(),
        );
        // The reason stays with the deployment, for readiness.
        let configured = async { self.configured(slot).await.map_err(|error| format!("{error:#}")) };
        let _ = deployment.start(configured).await;
        self.deployments.add(deployment);
    }

    /// Returns the bytes of the component that the configuration names, where they come from, and what speaks for them.
    async fn configured<W: World>(&self, slot: &Slot<W>) -> anyhow::Result<(Arc<[u8]>, String, Proof)> {
        match &slot.settings().component {
            ComponentSource::Embedded => {
                let built_in = self.deployments.store().built_in(slot.name());
                let wasm = built_in.context("this binary carries no component for it")?;
                Ok((wasm.into(), EMBEDDED.into(), Proof::BuiltIn))
            }
            ComponentSource::File(path) => {
                let read = read_configured(path, slot.context.sandbox.component_bytes);
                let (wasm, proof) = read.map_err(anyhow::Error::msg)?;
                Ok((wasm, path.display().to_string(), proof))
            }
            ComponentSource::Registry(reference) => {
                let Pulled { wasm, reference, signature } = self.registries.pull(reference).await?;
                Ok((wasm, reference.to_string(), signature.map_or(Proof::None, Proof::Signature)))
            }
        }
    }
}
