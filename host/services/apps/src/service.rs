//! The service as a host starts it.

use std::{fmt, sync::Arc, time::Duration};

use bulkhead_config::{
    Config, ServiceSpec,
    slots::{Limits, SlotId, SlotSettings},
    tables::TableSpec,
};
use bulkhead_keyvalue::{KeyValue, KeyValueMetrics, KeyValueSettings};
use bulkhead_outgoing::OutgoingMetrics;
use bulkhead_rollout::{Ceiling, LiveKeys};
use bulkhead_runtime::{
    capabilities::{CapabilitySet, SlotResources},
    compile::ComponentDigest,
    engine::PoolSize,
    slots::{ServedWorld, Slot},
};
use bulkhead_service::{
    Close, CommandSpec, MetricRegistrar, PageEntry, PageGuide, Service, ServiceContext, ServiceFuture,
    ServiceList, Started, check_component, not_owned,
};
use futures_util::future::LocalBoxFuture;
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use crate::{
    ceiling,
    command::Command,
    config::{AppSettings, AppsSettings},
    instance::AppInstance,
    keyvalue::{self, OpenStores},
    outgoing::AppClients,
    running::{self, RunningApps},
    spec::{NAME, SPEC},
    world::{self, SERVED},
};

/// Calls that the instance pool has for apps, beyond those of apps that the host starts with. With little memory there are
/// fewer.
const MORE_CALLS: usize = 64;
/// Largest memory of a call of an app that is added later, bytes.
const LARGEST_MEMORY: usize = 256 << 20;
/// Largest table of a call of an app that is added later, elements.
const LARGEST_TABLE: usize = Limits::DEFAULT.table_elements;
/// Metrics of what apps use.
const METRICS: &[MetricRegistrar] =
    &[MetricRegistrar::of::<OutgoingMetrics>(), MetricRegistrar::of::<KeyValueMetrics>()];
/// Time between two attempts to run an app that is refused.
const RETRY: Duration = Duration::from_secs(5);

/// The apps service in the list of services.
#[derive(Clone, Copy, Debug)]
pub struct AppsPlugin;

impl Service for AppsPlugin {
    fn spec(&self) -> ServiceSpec {
        SPEC
    }

    fn metrics(&self) -> &'static [MetricRegistrar] {
        METRICS
    }

    fn tables(&self) -> &'static [TableSpec] {
        const { &[TableSpec::of::<AppsSettings>(), TableSpec::of::<KeyValueSettings>()] }
    }

    fn served_worlds(&self) -> &'static [ServedWorld] {
        const { &[SERVED] }
    }

    fn commands(&self) -> &'static [CommandSpec] {
        const { &[CommandSpec::of::<Command>()] }
    }

    fn add_capabilities(&self, capabilities: CapabilitySet) -> CapabilitySet {
        world::add_capabilities(capabilities)
    }

    fn check_files(&self, config: &Config, services: ServiceList) -> anyhow::Result<Vec<String>> {
        for slot in config.slots.each().filter(|slot| config.services.uses(&slot.spec)) {
            keyvalue::check(config, slot)?;
        }
        let apps: &AppsSettings = config.table()?;
        for app in &apps.apps {
            running::check_mount(config, services, app)?;
            keyvalue::check(config, &app.slot)?;
        }
        Ok(beyond_ceilings(config, apps))
    }

    fn adds_slots(&self) -> bool {
        true
    }

    fn reserved_limits(&self, config: &Config) -> Vec<Limits> {
        config.table::<AppsSettings>().map_or_else(|_| Vec::new(), |apps| vec![room(config, apps)])
    }

    fn load<'a>(&'a self, context: &'a ServiceContext) -> ServiceFuture<'a, ()> {
        Box::pin(keyvalue::open(context))
    }

    fn provide(
        &self,
        context: &ServiceContext,
        settings: &SlotSettings,
        resources: &mut SlotResources,
    ) -> anyhow::Result<()> {
        keyvalue::provide(context, settings, resources)
    }

    fn page_entry(&self, _config: &Config) -> PageEntry {
        PageEntry {
            about: "Your own components of wasi:http, at paths and hosts of your choice",
            guide: Some(PageGuide { title: "Apps", text: include_str!("../README.md") }),
            ..PageEntry::default()
        }
    }

    fn start<'a>(&'a self, context: &'a ServiceContext) -> ServiceFuture<'a, Started> {
        Box::pin(build(context))
    }

    fn check<'a>(
        &'a self,
        context: &'a ServiceContext,
        slot: SlotId,
        wasm: Arc<[u8]>,
    ) -> ServiceFuture<'a, ComponentDigest> {
        Box::pin(async move {
            let apps: &AppsSettings = context.config.table()?;
            let app = apps.apps.iter().find(|app| app.id() == slot).ok_or_else(|| not_owned(slot))?;
            let mut resources = context.resources(&app.slot)?;
            running::provide(context, app, &AppClients::new(context)?, &mut resources);
            let (shared, metrics) = (context.slot_context.clone(), context.metrics.slot(slot));
            let slot: Slot<AppInstance> = Slot::new(shared, app.slot.clone(), resources, metrics);
            Ok(check_component(&slot, wasm, "check").await?.digest)
        })
    }
}

/// Returns the room in the instance pool for the apps that the host starts with and for those that a reload adds, as one
/// slot's.
fn room(config: &Config, apps: &AppsSettings) -> Limits {
    let used = config.slots.each().filter(|slot| config.services.uses(&slot.spec));
    let fixed = all_calls(used.map(|slot| &slot.limits));
    let limits = || apps.apps.iter().map(|app| &app.slot.limits);
    let sandbox = &config.sandbox;
    let more = Limits { max_concurrent: MORE_CALLS, ..Limits::DEFAULT };
    let max_concurrent = match sandbox.calls {
        Some(calls) => calls.saturating_sub(fixed),
        None => all_calls(limits()).saturating_add(more.concurrent_within(sandbox.memory)),
    };
    let memory_bytes = || limits().map(|limits| limits.memory_bytes).fold(LARGEST_MEMORY, usize::max);
    let table_elements = || limits().map(|limits| limits.table_elements).fold(LARGEST_TABLE, usize::max);
    Limits {
        max_concurrent,
        shadow_calls: 0,
        memory_bytes: sandbox.memory_bytes.unwrap_or_else(memory_bytes),
        table_elements: sandbox.table_elements.unwrap_or_else(table_elements),
        ..Limits::DEFAULT
    }
}

/// Returns a warning for each app that a host which starts with this configuration has no room for.
fn beyond_ceilings(config: &Config, apps: &AppsSettings) -> Vec<String> {
    let Limits { max_concurrent, memory_bytes, table_elements, .. } = room(config, apps);
    let pool = PoolSize { calls: max_concurrent, memory_bytes, table_elements };
    let keys = ceiling::exceeded(pool, apps, |_| None).into_iter();
    let warning = |key: String| {
        let name = key.rsplit_once('.').map_or("", |(_, name)| name);
        let ceiling = if name == "max_concurrent" { "calls" } else { name };
        format!(
            "{key} is beyond sandbox.{ceiling}, so that the app is not served; lower it or raise the ceiling"
        )
    };
    keys.map(warning).collect()
}

/// Returns how many calls slots with these limits run at once.
fn all_calls<'l>(limits: impl Iterator<Item = &'l Limits>) -> usize {
    limits.map(ceiling::calls).fold(0, usize::saturating_add)
}

/// Returns what the apps of a reload have to fit into: the instance pool, and the stores that the host has opened.
fn reload_ceiling(context: &ServiceContext, settings: &AppsSettings) -> Ceiling {
    let calls = room(&context.config, settings).max_concurrent;
    let pool = PoolSize { calls, ..context.slot_context.engine.pool_size() };
    let (deployments, started) = (Arc::clone(&context.deployments), context.config.clone());
    Box::new(move |config: &Config| {
        let Ok(apps) = config.table::<AppsSettings>() else { return Vec::new() };
        let running = |id: SlotId| Some(deployments.get(id.as_str())?.settings().limits.clone());
        // Also for one that the configuration lacks: the app is not served, and readiness says why.
        let waits_for_store = |app: &&Arc<AppSettings>| keyvalue::check(&started, &app.slot).is_err();
        let waiting = apps.apps.iter().filter(waits_for_store).map(|app| app.slot.key("keyvalue"));
        ceiling::exceeded(pool, apps, running).into_iter().chain(waiting).collect()
    })
}

/// Starts the apps of the configuration, and follows reloads.
async fn build(context: &ServiceContext) -> anyhow::Result<Started> {
    let settings: &AppsSettings = context.config.table()?;
    let mut running = RunningApps::new(context.clone())?;
    let is_complete = running.apply(settings).await;
    tracing::info!(service = NAME, apps = settings.apps.len(), "the service runs");
    let (sender, receiver) = watch::channel(settings.clone());
    let reload = move |config: &Config| {
        if let Ok(apps) = config.table::<AppsSettings>() {
            sender.send_replace(apps.clone());
        }
    };
    context.reloader.subscribe(LiveKeys::always(&[NAME]), Box::new(reload)).await;
    context.reloader.add_ceiling(reload_ceiling(context, settings)).await;
    let follower = tokio::spawn(follow(running, receiver, is_complete));
    let mut open: Vec<Box<dyn Close>> = vec![Box::new(Follower(follower))];
    if let Some(stores) = context.extensions.get::<KeyValue>() {
        open.push(Box::new(OpenStores(stores)));
    }
    Ok(Started { routers: Vec::new(), open })
}

/// Applies each configuration that a reload brings.
async fn follow(
    mut running: RunningApps,
    mut receiver: watch::Receiver<AppsSettings>,
    mut is_complete: bool,
) {
    loop {
        let changed = receiver.changed();
        let changed =
            if is_complete { changed.await } else { timeout(RETRY, changed).await.unwrap_or(Ok(())) };
        if changed.is_err() {
            return;
        }
        let wanted = receiver.borrow_and_update().clone();
        is_complete = running.apply(&wanted).await;
    }
}

/// The task that follows reloads.
struct Follower(JoinHandle<()>);

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

impl Close for Follower {
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move {
            self.0.abort();
            // The error is expected: the task was aborted.
            let _ = self.0.await;
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_config::HostSpec;
    use bulkhead_configured::loaded;

    use super::*;

    #[test]
    fn app_without_room_is_warned_of() {
        let tables = vec![TableSpec::of::<AppsSettings>()];
        let host = HostSpec { services: vec![SPEC], tables, ..HostSpec::default() };
        let app = |name: &str| {
            format!("[apps.{name}]\npath_prefix = '/{name}'\nmax_concurrent = 2\nshadow_calls = 1\n")
        };
        let warnings = |sandbox: &str| {
            let loaded = loaded(&host, &format!("{sandbox}{}{}", app("a"), app("b")), &[]);
            beyond_ceilings(&loaded.config, loaded.config.table().unwrap())
        };
        assert_eq!(warnings(""), Vec::<String>::new());
        assert_eq!(warnings("[sandbox]\ncalls = 6\n"), Vec::<String>::new());
        let warned = warnings("[sandbox]\ncalls = 5\n");
        assert_eq!(warned.len(), 1);
        assert!(warned.iter().all(|text| text.starts_with("apps.b.max_concurrent is beyond sandbox.calls,")));
    }
}
