//! The apps that run: their slots, their routes and listeners, and what is wrong with those that do not.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use axum::Router;
use bulkhead_config::{
    Config,
    slots::{Limits, SlotId},
};
use bulkhead_runtime::{
    capabilities::{ConfigSecrets, SlotResources},
    engine::NoRoom,
    slots::Slot,
};
use bulkhead_service::{ServedAt, ServiceContext, ServiceList};
use tokio::time::timeout;

use crate::{
    capability::HandleBytes,
    config::{AppSettings, AppsSettings, Mount},
    http::{self, App},
    instance::AppInstance,
    mounts::Mounts,
    outgoing::AppClients,
    probe::SlotProbe,
    spec::NAME,
};

/// The beginning of the names of checks of apps.
const CHECK: &str = "app ";
/// Longest wait for the calls of a slot that goes before its successor comes: longer than most calls.
const ROOM_WAIT: Duration = Duration::from_secs(1);

/// A listener of apps: the shared one, or one of their own with the key that names it first. With port 0, each app has one.
type ListenerKey = Option<(SocketAddr, String)>;

/// An app that is not served as it is configured, and why.
type Fault = (SlotId, String);

/// An app that runs.
struct RunningApp {
    slot: Arc<Slot<AppInstance>>,
    settings: Arc<AppSettings>,
    /// Where it was served last; `None` before it was.
    served: Option<Mount>,
}

/// The apps that run. One task at a time changes them.
pub(crate) struct RunningApps {
    context: ServiceContext,
    clients: AppClients,
    apps: BTreeMap<SlotId, RunningApp>,
    /// The apps that have no slot yet, whose requests are refused as those of a slot that is starting.
    starting: BTreeMap<SlotId, Arc<AppSettings>>,
    /// The entries of the host's routes, one for each listener, with its address if it has one of its own.
    entries: BTreeMap<String, Option<SocketAddr>>,
    /// What was wrong at the last attempt, so that it is logged once.
    faults: Vec<Fault>,
}

impl RunningApps {
    pub(crate) fn new(context: ServiceContext) -> anyhow::Result<Self> {
        let clients = AppClients::new(&context)?;
        let (apps, starting, entries) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { context, clients, apps, starting, entries, faults: Vec::new() })
    }

    /// Has exactly these apps run: adds, replaces and removes slots, routes and listeners. Apps that cannot run so are
    /// reported in log and readiness, and go on as they are. Returns false if a later attempt may succeed with the same
    /// settings.
    pub(crate) async fn apply(&mut self, wanted: &AppsSettings) -> bool {
        self.remove_unwanted(wanted).await;
        let (mut faults, mut sound) = (Vec::new(), Vec::new());
        for settings in &wanted.apps {
            match check_mount(&self.context.config, self.context.services, settings) {
                Ok(()) => sound.push(settings),
                Err(error) => faults.push((settings.id(), error.to_string())),
            }
        }
        let others: Vec<_> = sound.iter().copied().filter(|settings| !self.continues(settings)).collect();
        let added = others.iter().copied().filter(|settings| !self.apps.contains_key(&settings.id()));
        self.starting = added.map(|settings| (settings.id(), Arc::clone(settings))).collect();
        if !others.is_empty() {
            // What needs no other slot, such as a revoked key, does not wait until components are compiled.
            self.update(&sound);
            self.route(&mut Vec::new()).await;
        }
        for settings in others {
            if let Err(error) = self.set_app(settings).await {
                if !self.waits_for_room(&error) {
                    self.starting.remove(&settings.id());
                }
                faults.push((settings.id(), format!("{error:#}")));
            }
        }
        // Again, because an app may have left the address that another one has not got before.
        self.update(&sound);
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
        self.leave(leaving, Duration::ZERO).await;
    }

    /// Removes these apps' routes, and then their slots. Waits for the calls of each so long at most.
    async fn leave(&mut self, leaving: Vec<(SlotId, RunningApp)>, wait: Duration) {
        if leaving.is_empty() {
            return;
        }
        // The faults of the others are reported when all are routed.
        self.route(&mut Vec::new()).await;
        for (id, RunningApp { settings, slot, .. }) in leaving {
            // The slot is freed with the last reference to it.
            drop(slot);
            let freed = self.context.retire_slot(id, settings.longest_call()).await;
            if let Some(mut freed) = freed
                && timeout(wait, &mut freed).await.is_err()
            {
                tokio::spawn(freed);
            }
            tracing::info!(app = id.as_str(), "the app is removed");
        }
    }

    /// Returns whether the slot of an app that runs goes on under these settings.
    fn continues(&self, settings: &AppSettings) -> bool {
        self.apps.get(&settings.id()).is_some_and(|app| app.settings.continues_as(settings))
    }

    /// Changes the settings of the apps whose slots go on under them.
    fn update(&mut self, wanted: &[&Arc<AppSettings>]) {
        for settings in wanted.iter().copied() {
            let app = self.apps.get_mut(&settings.id());
            if let Some(app) = app.filter(|app| app.settings.continues_as(settings)) {
                app.settings = Arc::clone(settings);
            }
        }
    }

    /// Has an app run under these settings in another slot, which takes the place of the app's former one.
    async fn set_app(&mut self, settings: &Arc<AppSettings>) -> anyhow::Result<()> {
        let id = settings.id();
        let added = match self.add(settings).await {
            Err(error) if self.apps.get(&id).is_some_and(|former| fits_after(&error, former)) => {
                self.add_after_former(settings).await
            }
            added => added,
        };
        let slot = added?;
        tracing::info!(app = id.as_str(), "the app is added");
        let served = self.apps.get(&id).and_then(|former| former.served.clone());
        self.starting.remove(&id);
        self.apps.insert(id, RunningApp { slot, settings: Arc::clone(settings), served });
        Ok(())
    }

    /// Adds a slot for which there is no room beside the app's former one, which goes first. If that one's calls have not
    /// ended, it comes back.
    async fn add_after_former(
        &mut self,
        settings: &Arc<AppSettings>,
    ) -> anyhow::Result<Arc<Slot<AppInstance>>> {
        let id = settings.id();
        let former = self.apps.get(&id).map(|app| (Arc::clone(&app.settings), app.served.clone()));
        let leaving: Vec<_> = self.apps.remove_entry(&id).into_iter().collect();
        self.starting.extend(former.iter().map(|(settings, _)| (id, Arc::clone(settings))));
        self.leave(leaving, ROOM_WAIT).await;
        let added = self.add(settings).await;
        if added.is_ok() {
            return added;
        }
        if let Some((settings, served)) = former {
            match self.add(&settings).await {
                Ok(slot) => {
                    self.starting.remove(&id);
                    self.apps.insert(id, RunningApp { slot, settings, served });
                }
                Err(error) => {
                    let reason = format!("{error:#}");
                    tracing::error!(app = id.as_str(), reason, "the app is gone until its calls have ended");
                }
            }
        }
        added
    }

    async fn add(&self, settings: &Arc<AppSettings>) -> anyhow::Result<Arc<Slot<AppInstance>>> {
        let app: &AppSettings = settings;
        let (context, clients) = (&self.context, &self.clients);
        context.replace_slot(app.slot.clone(), |resources| provide(context, app, clients, resources)).await
    }

    /// Returns whether an app that was not added has room once calls of former slots have ended.
    fn waits_for_room(&self, error: &anyhow::Error) -> bool {
        let all = self.context.slot_context.engine.pool_size().calls;
        matches!(error.downcast_ref::<NoRoom>(), Some(NoRoom::Calls { wanted, .. }) if *wanted <= all)
    }

    /// Sets the routes of every listener. Reports the apps whose listener cannot be opened; they stay where they were.
    async fn route(&mut self, faults: &mut Vec<Fault>) {
        let mut failed = self.open_listeners().await;
        self.put_back(&failed);
        let late = self.set_routes().await;
        if self.put_back(&late) {
            // The apps that were served nowhere are among the first ones.
            self.set_routes().await;
        }
        failed.extend(late);
        for (id, reason) in failed {
            if !faults.iter().any(|(known, _)| *known == id) {
                faults.push((id, reason));
            }
        }
    }

    /// Opens the listeners that are new, so that no app leaves its place for one that cannot be opened. Those at a port that
    /// apps have are opened later: it may become free. Returns the apps of those that cannot be opened.
    async fn open_listeners(&mut self) -> Vec<Fault> {
        let mut failed = Vec::new();
        for (listener, (mounts, ids)) in self.listeners() {
            let (name, address) = (entry_name(&listener), address(&listener));
            let port = address.map(|address| address.port()).filter(|port| *port != 0);
            let is_held = self.entries.values().flatten().any(|known| port == Some(known.port()));
            if is_held || self.entries.contains_key(&name) {
                continue;
            }
            match self.set(&name, listener, mounts.router()).await {
                Ok(()) => {
                    self.entries.insert(name, address);
                }
                Err(error) => failed.extend(ids.into_iter().map(|id| (id, error.to_string()))),
            }
        }
        failed
    }

    /// Sets the routes of every listener, and removes those without apps. Returns the apps whose listener cannot be opened.
    async fn set_routes(&mut self) -> Vec<Fault> {
        let listeners = self.listeners();
        let names: BTreeSet<String> = listeners.keys().map(entry_name).collect();
        let gone: Vec<String> = self.entries.keys().filter(|name| !names.contains(*name)).cloned().collect();
        // First, so that an address is free for another listener.
        for gone in gone {
            if let Err(error) = self.context.routes.remove(NAME, &gone).await {
                tracing::warn!(%error, "the routes of apps are not removed");
            }
            self.entries.remove(&gone);
        }
        let mut failed = Vec::new();
        for (listener, (mounts, ids)) in listeners {
            let (name, address) = (entry_name(&listener), address(&listener));
            match self.set(&name, listener, mounts.router()).await {
                Ok(()) => {
                    self.entries.insert(name, address);
                    self.note_served(&ids);
                }
                Err(error) => failed.extend(ids.into_iter().map(|id| (id, error.to_string()))),
            }
        }
        failed
    }

    /// Returns the listeners that apps want, with the apps that run.
    fn listeners(&self) -> BTreeMap<ListenerKey, (Mounts, Vec<SlotId>)> {
        let mut listeners: BTreeMap<ListenerKey, (Mounts, Vec<SlotId>)> = BTreeMap::new();
        for (id, RunningApp { slot, settings, .. }) in &self.apps {
            let app: &AppSettings = settings;
            let (mounts, ids) = listeners.entry(self.listener(app)).or_default();
            mounts.add(app.mount.clone(), http::serving(App::new(Arc::clone(slot), settings)));
            ids.push(*id);
        }
        for settings in self.starting.values() {
            let (mounts, _) = listeners.entry(self.listener(settings)).or_default();
            mounts.add(settings.mount.clone(), http::starting(settings));
        }
        listeners
    }

    /// Notes that apps are served where their settings say.
    fn note_served(&mut self, ids: &[SlotId]) {
        for id in ids {
            if let Some(app) = self.apps.get_mut(id) {
                app.served = Some(app.settings.mount.clone());
            }
        }
    }

    /// Gives apps the places back at which they were served last. Returns whether one of them has left its place.
    fn put_back(&mut self, failed: &[Fault]) -> bool {
        let mut has_left = false;
        for (id, _) in failed {
            let Some(app) = self.apps.get_mut(id) else { continue };
            if let Some(served) = app.served.clone().filter(|served| *served != app.settings.mount) {
                Arc::make_mut(&mut app.settings).mount = served;
                has_left = true;
            }
        }
        has_left
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
        let mut all = self.apps.values().map(|running| &running.settings).chain(self.starting.values());
        let first = all.find(|other| address.port() != 0 && other.mount.listen == Some(address));
        let first = first.map_or(app, |first| &**first);
        Some((address, first.slot.key("listen")))
    }
}

/// Returns the name of the entry of a listener in the host's routes: its address, so that apps may leave it to others. With
/// port 0, each setting has a listener.
fn entry_name(listener: &ListenerKey) -> String {
    match listener {
        None => "shared".to_owned(),
        Some((address, setting)) if address.port() == 0 => setting.clone(),
        Some((address, _)) => address.to_string(),
    }
}

/// Returns the address of a listener that is not the shared one.
fn address(listener: &ListenerKey) -> Option<SocketAddr> {
    listener.as_ref().map(|(address, _)| *address)
}

/// Returns whether a slot that was not added fits into the instance pool once an app's former slot is gone.
fn fits_after(error: &anyhow::Error, former: &RunningApp) -> bool {
    let Some(NoRoom::Calls { wanted, free }) = error.downcast_ref::<NoRoom>() else { return false };
    let Limits { max_concurrent, shadow_calls, .. } = &former.settings.slot.limits;
    free.saturating_add(*max_concurrent).saturating_add(*shadow_calls) >= *wanted
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
pub(crate) fn check_mount(config: &Config, services: ServiceList, app: &AppSettings) -> anyhow::Result<()> {
    let mount = &app.mount;
    for service in services {
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
