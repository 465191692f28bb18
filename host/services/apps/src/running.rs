//! The apps that run: their slots, their routes and listeners, and what is wrong with those that do not.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
};

use axum::Router;
use bulkhead_config::slots::SlotId;
use bulkhead_runtime::{
    capabilities::{ConfigSecrets, SlotResources},
    engine::NoRoom,
    slots::Slot,
};
use bulkhead_service::{ServedAt, ServiceContext};

use crate::{
    capability::HandleBytes,
    config::{AppSettings, AppsSettings},
    http::{self, App},
    instance::AppInstance,
    mounts::Mounts,
    outgoing::AppClients,
    spec::NAME,
    trial::SlotProbe,
};

/// The beginning of the names of checks of apps.
const CHECK: &str = "app ";

/// A listener of apps: the shared one, or one of their own with the key that names it first. With port 0, each app has one.
type ListenerKey = Option<(SocketAddr, String)>;

/// An app that runs.
struct RunningApp {
    slot: Arc<Slot<AppInstance>>,
    settings: Arc<AppSettings>,
}

/// The apps that run. One task at a time changes them.
pub(crate) struct RunningApps {
    context: ServiceContext,
    clients: AppClients,
    apps: BTreeMap<SlotId, RunningApp>,
    /// The entries of the host's routes, one for each listener.
    entries: BTreeSet<String>,
    /// What was wrong at the last attempt, so that it is logged once.
    faults: Vec<(SlotId, String)>,
}

impl RunningApps {
    pub(crate) fn new(context: ServiceContext) -> anyhow::Result<Self> {
        let clients = AppClients::new(&context)?;
        Ok(Self { context, clients, apps: BTreeMap::new(), entries: BTreeSet::new(), faults: Vec::new() })
    }

    /// Has exactly these apps run: adds, replaces and removes slots, routes and listeners. Apps that cannot run so are
    /// reported in log and readiness, and go on as they are. Returns false if a later attempt may succeed with the same
    /// settings.
    pub(crate) async fn apply(&mut self, wanted: &AppsSettings) -> bool {
        self.remove_unwanted(wanted).await;
        let mut faults = Vec::new();
        for settings in &wanted.apps {
            if let Err(error) = self.set_app(settings).await {
                faults.push((settings.id(), format!("{error:#}")));
            }
        }
        self.route(&mut faults).await;
        for (id, reason) in faults.iter().filter(|fault| !self.faults.contains(fault)) {
            tracing::error!(app = id.as_str(), reason, "the app is not served as it is configured");
        }
        let report = faults.iter().map(|(id, reason)| (format!("{CHECK}{id}"), reason.clone()));
        self.context.health.set_faults(CHECK, report);
        self.faults = faults;
        self.faults.is_empty()
    }

    /// Removes the apps that are no longer wanted. Their requests in flight are answered still, for which nothing waits.
    async fn remove_unwanted(&mut self, wanted: &AppsSettings) {
        let is_wanted = |id: &SlotId| wanted.apps.iter().any(|settings| settings.id() == *id);
        let leaving: Vec<(SlotId, RunningApp)> = self.apps.extract_if(.., |id, _| !is_wanted(id)).collect();
        self.leave(leaving).await;
    }

    /// Removes these apps' routes, and then their slots.
    async fn leave(&mut self, leaving: Vec<(SlotId, RunningApp)>) {
        if leaving.is_empty() {
            return;
        }
        // The faults of the others are reported when all are routed.
        self.route(&mut Vec::new()).await;
        for (id, RunningApp { settings, slot }) in leaving {
            // The slot is freed with the last reference to it.
            drop(slot);
            if let Some(freed) = self.context.retire_slot(id, settings.longest_call()).await {
                tokio::spawn(freed);
            }
            tracing::info!(app = id.as_str(), "the app is removed");
        }
    }

    /// Has an app run under these settings: changes the one that runs, or adds a slot, which takes the place of the app's
    /// former one.
    async fn set_app(&mut self, settings: &Arc<AppSettings>) -> anyhow::Result<()> {
        check_mount(&self.context, settings)?;
        let id = settings.id();
        if let Some(app) = self.apps.get_mut(&id).filter(|app| app.settings.continues_as(settings)) {
            app.settings = Arc::clone(settings);
            return Ok(());
        }
        let added = match self.add(settings).await {
            Err(error) if self.apps.contains_key(&id) && needs_more_calls(&error) => {
                // Without room for both, the former one goes first.
                let leaving: Vec<_> = self.apps.remove_entry(&id).into_iter().collect();
                self.leave(leaving).await;
                self.add(settings).await
            }
            added => added,
        };
        let slot = added?;
        tracing::info!(app = id.as_str(), "the app is added");
        self.apps.insert(id, RunningApp { slot, settings: Arc::clone(settings) });
        Ok(())
    }

    async fn add(&self, settings: &Arc<AppSettings>) -> anyhow::Result<Arc<Slot<AppInstance>>> {
        let app: &AppSettings = settings;
        let (context, clients) = (&self.context, &self.clients);
        context.replace_slot(app.slot.clone(), |resources| provide(context, app, clients, resources)).await
    }

    /// Sets the routes of every listener. Reports the apps whose listener cannot be opened.
    async fn route(&mut self, faults: &mut Vec<(SlotId, String)>) {
        let mut listeners: BTreeMap<ListenerKey, (Mounts, Vec<SlotId>)> = BTreeMap::new();
        for (id, RunningApp { slot, settings }) in &self.apps {
            let app: &AppSettings = settings;
            let (mounts, ids) = listeners.entry(self.listener(app)).or_default();
            mounts.add(app.mount.clone(), http::router(App::new(Arc::clone(slot), settings)));
            ids.push(*id);
        }
        let names: BTreeSet<String> = listeners.keys().map(entry_name).collect();
        // First, so that an address is free for another listener.
        for gone in self.entries.difference(&names) {
            if let Err(error) = self.context.routes.remove(NAME, gone).await {
                tracing::warn!(%error, "the routes of apps are not removed");
            }
        }
        for (listener, (mounts, ids)) in listeners {
            let (name, router) = (entry_name(&listener), mounts.router());
            if let Err(error) = self.set(&name, listener, router).await {
                faults.extend(ids.into_iter().map(|id| (id, error.to_string())));
            }
        }
        self.entries = names;
    }

    async fn set(
        &self,
        entry: &str,
        listener: ListenerKey,
        router: Router,
    ) -> Result<(), bulkhead_service::RoutesError> {
        let listener = listener.map(|(address, setting)| (address, setting.into()));
        self.context.routes.set(NAME, entry, vec![(ServedAt::Rest { listener }, router)]).await
    }

    /// Returns the listener of an app: its own, else that of the service.
    fn listener(&self, app: &AppSettings) -> ListenerKey {
        let Some(address) = app.mount.listen else {
            let of_service = self.context.config.services.get(NAME).listen?;
            return Some((of_service, format!("services.{NAME}.listen")));
        };
        let shares =
            |other: &&RunningApp| address.port() != 0 && other.settings.mount.listen == Some(address);
        let first = self.apps.values().find(shares).map_or(app, |first| &*first.settings);
        Some((address, first.slot.key("listen")))
    }
}

/// Returns the name of the entry of a listener in the host's routes.
fn entry_name(listener: &ListenerKey) -> String {
    listener.as_ref().map_or_else(|| "shared".to_owned(), |(_, setting)| setting.clone())
}

/// Returns whether a slot was not added because slots that exist have the calls of the instance pool.
fn needs_more_calls(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<NoRoom>(), Some(NoRoom::Calls { .. }))
}

/// Adds to a slot's resources what an app provides to its guests.
pub(crate) fn provide(
    context: &ServiceContext,
    app: &AppSettings,
    clients: &AppClients,
    resources: &mut SlotResources,
) {
    clients.provide(app, resources);
    let handles = context.config.sandbox.handles;
    resources.insert(Arc::new(HandleBytes::share(app.slot.limits.memory_bytes, handles)));
    resources.insert(Arc::new(ConfigSecrets(app.secrets.clone())));
    if let Some(probe) = &app.probe {
        resources.insert(Arc::new(SlotProbe { probe: probe.clone(), may_send: app.probe_outgoing }));
    }
}

/// Refuses an app below the paths of a service, which it would answer for in part.
fn check_mount(context: &ServiceContext, app: &AppSettings) -> anyhow::Result<()> {
    let (config, mount) = (&context.config, &app.mount);
    for service in context.services {
        let name = service.spec().name;
        let settings = config.services.get(name);
        let base = service.page_entry(config).base_path;
        let listen = mount.listen.or(config.services.get(NAME).listen);
        if !settings.enabled || base.is_empty() || settings.listen != listen {
            continue;
        }
        let prefix = format!("{}{base}", settings.path_prefix);
        if bulkhead_http::path::after_prefix(&mount.path_prefix, &prefix).is_some() {
            let key = app.slot.key("path_prefix");
            anyhow::bail!(
                "{key} is inside {prefix}, which belongs to the service {name}; choose another one"
            );
        }
    }
    Ok(())
}
