//! Settings and a deployment for tests, whose components import nothing.

#![allow(clippy::unwrap_used)]

use std::{path::Path, sync::Arc, time::Duration};

use bulkhead_config::{
    HostSpec,
    rollout::Rollout,
    sandbox::Sandbox,
    signatures::Signatures,
    slots::{ComponentSource, Limits, SlotId, SlotSettings, SlotSpec},
    watch::Watch,
};
use bulkhead_runtime::capabilities::{CapabilitySet, SlotResources, StoreData};
use bulkhead_runtime::compile::Compiler;
use bulkhead_runtime::engine::Engine;
use bulkhead_runtime::slots::{self, SlotContext, World};
use bulkhead_telemetry::Metrics;
use wasmtime::{Store, component::InstancePre};

use super::{Deployment, LocalStore};

/// Returns the default settings of the sandbox.
fn sandbox() -> Sandbox {
    bulkhead_configured::loaded(&HostSpec::default(), "", &[]).config.sandbox
}

/// The slot of a service without a component.
const SPEC: SlotSpec = SlotSpec {
    id: SlotId::new("captcha"),
    service: "captcha",
    limits: &Limits::DEFAULT,
    grants: &[],
    uses_models: false,
    component: None,
};

/// The smallest valid component.
pub(super) const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

/// A world that every component without imports implements.
#[derive(Debug)]
pub(super) struct Bare;

impl World for Bare {
    const NAME: &'static str = "test:bare/bare@0.1.0";
    const EXPORTS: &'static [&'static str] = &[];
    type Linked = InstancePre<StoreData>;

    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        Ok(linked)
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        linked.instantiate_async(store).await.map(|_| Self)
    }

    async fn self_test(&self, _: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        Ok(Ok(()))
    }
}

/// Returns an empty slot with its data in `folder`. `compile_program` compiles its components, and retries at once
/// what fails at the start.
pub(super) fn deployment(folder: &Path, compile_program: &Path) -> Arc<Deployment<Bare>> {
    deployment_under(settings(), folder, compile_program)
}

/// Returns such a slot with other settings.
pub(super) fn deployment_under(
    settings: SlotSettings,
    folder: &Path,
    compile_program: &Path,
) -> Arc<Deployment<Bare>> {
    let sandbox = Sandbox { compile_program: compile_program.to_owned(), ..sandbox() };
    let metrics = Arc::new(Metrics::new(folder.to_owned(), [SPEC.id]).unwrap());
    let engine = Arc::new(Engine::new(&sandbox, [&Limits::DEFAULT]).unwrap());
    let compiler = Arc::new(Compiler::new(Arc::clone(&engine), &sandbox, None, Arc::clone(&metrics)));
    let (sandbox, capabilities) = (Arc::new(sandbox), CapabilitySet::default());
    let context = SlotContext { engine, compiler, sandbox, capabilities };
    let resources = SlotResources::new(&settings, Arc::clone(&metrics));
    let slot = slots::Slot::new(context, settings, resources, metrics.slot(SPEC.id));
    let store = Arc::new(LocalStore::new(folder.join("slots")));
    Deployment::with_compile_pause(Arc::new(slot), store, None, Duration::from_millis(1))
}

/// Returns a slot's settings.
pub(super) fn settings() -> SlotSettings {
    SlotSettings {
        table: "slots",
        spec: SPEC,
        component: ComponentSource::Embedded,
        limits: Limits::DEFAULT,
        grants: Vec::new(),
        models: None,
        keyvalue: Vec::new(),
        reuse: false,
        rollout: Rollout::DEFAULT,
        signatures: Signatures::DEFAULT,
        watch: Watch::DEFAULT,
        config: std::collections::BTreeMap::new(),
    }
}

#[test]
fn component_under_other_settings_is_another_version() {
    use bulkhead_runtime::compile::ComponentDigest;
    use bulkhead_runtime::slots::revision;

    use super::VersionId;

    let (plain, component) = (settings(), ComponentDigest::of(b"a"));
    let id = |settings: &SlotSettings| VersionId::new(component, &revision(settings));
    for other in [
        SlotSettings { grants: vec!["wasi:io/poll".into()], ..settings() },
        SlotSettings { limits: Limits { cpu_ms: 1, ..Limits::DEFAULT }, ..settings() },
        SlotSettings { config: [("a".to_owned(), "b".to_owned())].into(), ..settings() },
        SlotSettings { reuse: true, ..settings() },
    ] {
        assert_ne!(id(&other), id(&plain), "{other:?}");
    }
    let elsewhere = SlotSettings { component: ComponentSource::File("a.wasm".into()), ..settings() };
    assert_eq!(id(&elsewhere), id(&plain), "where the file is makes no difference");
    assert_ne!(VersionId::new(ComponentDigest::of(b"b"), &revision(&plain)), id(&plain));
}
