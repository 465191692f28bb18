//! Checks a component and deploys it into its slot.

use std::sync::Arc;

use anyhow::Context as _;
use bulkhead_config::slots::ComponentSource;
use bulkhead_registry::{PulledComponent, Registries};
use bulkhead_rollout::{Deployment, DeploymentRegistry, EMBEDDED, Proof, read_configured};
use bulkhead_runtime::invoke;
use bulkhead_runtime::slots::{Slot, Version, VersionLoadError, World};

use super::ServiceContext;

/// Everything that is wrong with a component that a slot rejects.
#[derive(Debug, thiserror::Error)]
pub enum ComponentCheckError {
    /// It cannot be loaded.
    #[error(transparent)]
    Load(#[from] VersionLoadError),
    /// Its self-test failed.
    #[error("the component's self-test failed: {0}")]
    SelfTest(String),
    /// It is for another world, or no component.
    #[error("{0}")]
    World(String),
}

/// Runs every check that a component must pass before its first call, and returns it as a version of `slot`.
///
/// # Errors
/// Everything that is wrong with it.
pub async fn check_component<W: World>(
    slot: &Slot<W>,
    wasm: Arc<[u8]>,
    source: &str,
) -> Result<Arc<Version<W>>, ComponentCheckError> {
    let version = slot.prepare(wasm, source).await?;
    let self_test = invoke::run_self_test(slot, &version).await;
    self_test.map_err(ComponentCheckError::SelfTest)?;
    Ok(version)
}

impl ServiceContext {
    /// Deploys the version that answered last into `slot`, else the configured component. Reports in log and readiness why
    /// the slot stays empty. Operators may change the slot afterwards.
    ///
    /// While the services of the host are started, this returns at once, and the slots are deployed to at the same time:
    /// until a slot's version is ready, its calls end with [`Starting`](bulkhead_runtime::slots::SlotUnavailable::Starting).
    pub async fn deploy<W: World>(&self, slot: &Arc<Slot<W>>) {
        let (deployments, registries) = (Arc::clone(&self.deployments), Arc::clone(&self.registries));
        let start = start(deployments, registries, Arc::clone(slot));
        if let Some(start) = self.starts.spawn(|| self.deployments.begin(slot.name()), start) {
            start.await;
        }
    }
}

/// Starts a slot, and adds it to those that operators see.
async fn start<W: World>(
    deployments: Arc<DeploymentRegistry>,
    registries: Arc<Registries>,
    slot: Arc<Slot<W>>,
) {
    let (store, shared) = (Arc::clone(deployments.store()), deployments.shared().cloned());
    let deployment = Deployment::new(Arc::clone(&slot), store, shared);
    // The reason stays with the deployment, for readiness.
    let configured =
        async { configured_component(&registries, &slot).await.map_err(|error| format!("{error:#}")) };
    let _ = deployment.start(configured).await;
    deployments.add(deployment);
}

/// Returns the bytes of the configured component, their source, and the proof of their origin.
async fn configured_component<W: World>(
    registries: &Registries,
    slot: &Slot<W>,
) -> anyhow::Result<(Arc<[u8]>, String, Proof)> {
    match &slot.settings().component {
        ComponentSource::Embedded => {
            let settings = slot.settings();
            let key = || format!("it has no component; set {}, or push one", settings.key("component"));
            let wasm = settings.spec.component.with_context(key)?;
            Ok((wasm.into(), EMBEDDED.into(), Proof::BuiltIn))
        }
        ComponentSource::File(path) => {
            let read = read_configured(path, slot.context.sandbox.component_bytes);
            let (wasm, proof) = read.map_err(anyhow::Error::msg)?;
            Ok((wasm, path.display().to_string(), proof))
        }
        ComponentSource::Registry(reference) => {
            let PulledComponent { wasm, reference, signature } = registries.pull(reference).await?;
            Ok((wasm, reference.to_string(), signature.map_or(Proof::None, Proof::Signature)))
        }
    }
}
