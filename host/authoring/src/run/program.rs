//! A component that is compiled and linked without a host, and calls of its exports.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use bulkhead_config::{
    self as config, HostSpec, Sources,
    sandbox::{Allocator, Sandbox},
    slots::{ComponentSource, Limits, SlotId, SlotSettings as Settings, SlotSpec},
};
use bulkhead_runtime::{
    capabilities::{self, Capabilities, CapabilitySet, ShadowMode, SlotResources, StoreData},
    compile::{Compiler, ComponentDigest},
    engine::Engine,
    invoke::{Outcome, explain},
    sandbox,
};
use bulkhead_telemetry::Metrics;
use tokio::time::{Instant, timeout_at};
use wasmtime::{
    Store,
    component::{
        Component, InstancePre, Linker, LinkerInstance, ResourceType, Val,
        types::{ComponentInstance, ComponentItem},
    },
};

use crate::{
    component::exports::{self, ExportedFunction},
    signature::bare,
};

/// The id under which the log of such a component is attributed.
const PLACEHOLDER: &str = "component";
/// The slot of a component that fits the world of no slot.
const UNBOUND: SlotSpec = SlotSpec {
    id: SlotId::new(PLACEHOLDER),
    service: "component",
    limits: &Limits::DEFAULT,
    grants: &[],
    uses_models: false,
    component: None,
};
/// The version under which log lines are attributed.
const VERSION: &str = "file";

/// What differs from the defaults of a slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// What the component reads through `wasi:config/store`, or as its environment.
    pub(crate) config: BTreeMap<String, String>,
    /// `memory_bytes` of the slot.
    pub(crate) memory_bytes: Option<usize>,
    /// `table_elements` of the slot.
    pub(crate) table_elements: Option<usize>,
    /// `cpu_ms` of the slot.
    pub(crate) cpu_ms: Option<u64>,
    /// `deadline_ms` of the slot.
    pub(crate) deadline_ms: Option<u64>,
}

impl Overrides {
    /// Returns the settings of a slot without a configuration, with these overrides.
    fn settings(self, spec: SlotSpec) -> Settings {
        let mut settings = Settings::new(spec, ComponentSource::Embedded);
        let limits = &mut settings.limits;
        limits.memory_bytes = self.memory_bytes.unwrap_or(limits.memory_bytes);
        limits.table_elements = self.table_elements.unwrap_or(limits.table_elements);
        limits.cpu_ms = self.cpu_ms.unwrap_or(limits.cpu_ms);
        limits.deadline = self.deadline_ms.map_or(limits.deadline, Duration::from_millis);
        settings.config = self.config;
        settings
    }
}

/// A call that the sandbox ended.
pub(crate) struct CallEnd {
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// Why, with the guest's last error and its backtrace.
    pub(crate) text: String,
}

/// A component that is ready to be called.
pub(crate) struct Program {
    engine: Arc<Engine>,
    sandbox: Sandbox,
    settings: Arc<Settings>,
    resources: Arc<SlotResources>,
    linked: InstancePre<StoreData>,
}

impl Program {
    /// Compiles and links a component with the capabilities that need no host, under the limits of a slot or, without
    /// one, the default limits.
    pub(crate) async fn load(
        wasm: Arc<[u8]>,
        slot: Option<SlotSpec>,
        overrides: Overrides,
    ) -> anyhow::Result<Self> {
        let settings = Arc::new(overrides.settings(slot.unwrap_or(UNBOUND)));
        let defaults = Sources { root: true, ..Sources::default() };
        let defaults =
            config::load(defaults, &HostSpec::default()).map_err(|problems| anyhow!("{problems}"))?;
        let sandbox = Sandbox { allocator: Allocator::OnDemand, ..defaults.config.sandbox };
        let engine = Arc::new(Engine::new(&sandbox, [&settings.limits])?);
        let metrics = Arc::new(Metrics::new(PathBuf::from("/"), [settings.id()])?);
        let compiler = Compiler::new(Arc::clone(&engine), &sandbox, None, Arc::clone(&metrics));
        let digest = ComponentDigest::of(&wasm);
        let component = compiler.compile(wasm, digest).await?;
        let linked = link(&engine, &component, &settings.spec)
            .map_err(|error| anyhow!("{error:#}"))
            .context("the component does not fit the WIT of this binary; build it against that")?;
        let resources = Arc::new(SlotResources::new(&settings, metrics));
        Ok(Self { engine, sandbox, settings, resources, linked })
    }

    /// Returns the functions that it exports.
    pub(crate) fn functions(&self) -> Vec<ExportedFunction> {
        exports::functions(self.linked.component())
    }

    /// Calls an export in a fresh instance, and returns its result if it has one.
    pub(crate) async fn call(
        &self,
        function: &ExportedFunction,
        arguments: &[Val],
    ) -> Result<Option<Val>, CallEnd> {
        let limits = &self.settings.limits;
        let deadline = Instant::now() + limits.deadline;
        let (resources, settings) = (Arc::clone(&self.resources), Arc::clone(&self.settings));
        let capabilities = |budget| Capabilities::new(resources, VERSION.into(), settings, budget);
        let mut store = sandbox::store(&self.engine, &self.sandbox, limits, capabilities);
        store.data_mut().capabilities.begin_call(deadline, ShadowMode::Off);
        let _running = self.engine.running();
        let called = timeout_at(deadline, self.run(&mut store, function, arguments)).await;
        let (outcome, error) = match called {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => (Outcome::of(&error, store.data()), error),
            Err(elapsed) => (Outcome::Deadline, elapsed.into()),
        };
        let text = explain(outcome, &error, store.data(), &self.settings);
        Err(CallEnd { outcome, text })
    }

    async fn run(
        &self,
        store: &mut Store<StoreData>,
        function: &ExportedFunction,
        arguments: &[Val],
    ) -> wasmtime::Result<Option<Val>> {
        let instance = self.linked.instantiate_async(&mut *store).await?;
        let found = instance.get_func(&mut *store, function.index);
        let found = found.ok_or_else(|| wasmtime::Error::msg("the instance lacks the export"))?;
        let mut results = vec![Val::Bool(false); function.ty.results().len()];
        found.call_async(&mut *store, arguments, &mut results).await?;
        Ok(results.pop())
    }
}

/// Links what needs no host. Every other function is linked as a trap that names it, so that exports that do not call it
/// can be called.
fn link(engine: &Engine, component: &Component, slot: &SlotSpec) -> wasmtime::Result<InstancePre<StoreData>> {
    let capabilities = capabilities::general();
    let grants: Vec<String> = capabilities.interfaces().map(|interface| interface.name.to_owned()).collect();
    let mut linker = Linker::<StoreData>::new(engine.wasmtime());
    capabilities.add_to_linker(&mut linker, slot, &grants)?;
    for (name, import) in component.component_type().imports(engine.wasmtime()) {
        if is_linked(&capabilities, name) {
            continue;
        }
        match import.ty {
            ComponentItem::ComponentInstance(instance) => {
                link_traps(&mut linker.instance(name)?, name, &instance, engine.wasmtime())?;
            }
            ComponentItem::ComponentFunc(_) => link_trap(&mut linker.root(), name, name.to_owned())?,
            _ => {}
        }
    }
    linker.instantiate_pre(component)
}

fn is_linked(capabilities: &CapabilitySet, import: &str) -> bool {
    let name = bare(import);
    capabilities.find(name).is_some() || capabilities.stubs().any(|stub| stub.name == name)
}

fn link_traps(
    linker: &mut LinkerInstance<'_, StoreData>,
    interface: &str,
    instance: &ComponentInstance,
    engine: &wasmtime::Engine,
) -> wasmtime::Result<()> {
    for (name, export) in instance.exports(engine) {
        match export.ty {
            ComponentItem::ComponentFunc(_) => link_trap(linker, name, format!("{interface}#{name}"))?,
            ComponentItem::Resource(_) => {
                linker.resource(name, ResourceType::host::<()>(), |_, _| Ok(()))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn link_trap(
    linker: &mut LinkerInstance<'_, StoreData>,
    name: &str,
    full_name: String,
) -> wasmtime::Result<()> {
    linker.func_new(name, move |_, _, _, _| {
        let text =
            format!("{full_name} needs a host, and this call has none; call an export that does not use it");
        Err(wasmtime::Error::msg(text))
    })
}
