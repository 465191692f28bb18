//! Starts and stops a host: everything that a configuration asks for.

mod compiled_code;
mod completion;
mod data_folder;
pub(crate) mod install;
mod memory;
mod observe;
mod routes;
mod sharing;
mod slot_context;
mod start;

use std::{
    collections::BTreeMap, fs, io, net::SocketAddr, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use bulkhead_admin::{AdminListener, AdminSources, OperatorContext};
use bulkhead_config::{Config, Loaded, slots::SlotId};
use bulkhead_http::{
    heartbeat::Heartbeat,
    lifecycle::{Drain, Lifecycle},
    listen,
};
use bulkhead_os::{damaged_files::DamagedFiles, data_folder::DataFolder, files};
use bulkhead_registry::Registries;
use bulkhead_rollout::{ConfigSource, DeploymentRegistry, LocalStore, ReloadError, Reloaded, Reloader};
use bulkhead_runtime::{
    compile::{CacheSettings, ComponentDigest},
    engine::Engine,
};
use bulkhead_service::{
    Close, Extensions, HostHealth, ReadyReport, Routes, SECRETS_DIR, ServiceContext, ServiceList, SlotStarts,
    Started, not_owned,
};
use bulkhead_telemetry::{Metrics, exposition::Format};
use tokio::{runtime::Handle, task::JoinSet};

pub(crate) use self::slot_context::engine;
use self::{observe::FaultObserver, routes::HostRoutes};
use crate::distribution::Distribution;

/// File of the generated secret that authenticates the host's own files, in the folder of secrets.
const HOST_KEY: &str = "host.key";
/// Folder of pushed components and of the slots' states, in the data folder.
pub(crate) const SLOTS: &str = "slots";
/// Time between the end of readiness and the close of the listeners.
const READINESS_DELAY: Duration = Duration::ZERO;

/// The addresses at which a host listens, with the actual port instead of port 0.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// The shared listener.
    pub public: SocketAddr,
    /// The operators' listener.
    pub admin: SocketAddr,
}

/// A running host. Stop it with [`Host::stop`].
#[derive(Debug)]
pub struct Host {
    addresses: Addresses,
    lifecycle: Lifecycle,
    routes: HostRoutes,
    servers: JoinSet<()>,
    /// The parts that are closed at the end, the last first.
    open: Vec<Box<dyn Close>>,
    health: Arc<HostHealth>,
    reloader: Arc<Reloader>,
    engine: Arc<Engine>,
    /// Of the public listeners.
    heartbeat: Heartbeat,
    // After the rest, so that operators see a host drain.
    admin: AdminListener,
    /// Last: the folder is in use until everything is closed.
    _data_folder: DataFolder,
}

/// Builds the context that the services of a host are started with, and has them prepare it for each other. Compiled code
/// is kept in `cache`, and damaged files are recorded in `damaged_files`.
fn context(
    distribution: &Distribution,
    loaded: &Loaded,
    source: Option<ConfigSource>,
    lifecycle: Lifecycle,
    cache: Option<CacheSettings>,
    damaged_files: DamagedFiles,
) -> anyhow::Result<ServiceContext> {
    let (services, config) = (distribution.services, &loaded.config);
    let metrics = Arc::new(Metrics::new(config.data_dir.clone(), config.slots.ids())?);
    distribution.register_metrics(&metrics)?;
    observe::connections(&metrics);
    let built_in = config.slots.each().filter_map(|slot| Some((slot.id(), slot.spec.component?)));
    let store = LocalStore::new(config.data_dir.join(SLOTS))
        .with_key(config.data_dir.join(SECRETS_DIR).join(HOST_KEY))
        .with_built_in(built_in)
        .with_damaged_files(damaged_files.clone());
    let deployments = DeploymentRegistry::new(Arc::new(store), sharing::shared(services, config, &metrics)?);
    let deployments = Arc::new(deployments.with_expected(config.slots.ids()));
    let (of_health, data) = (Arc::clone(&deployments), config.data_dir.clone());
    let health = HostHealth::new(lifecycle, of_health, data, damaged_files);
    let health = Arc::new(health);
    let slot_context = slot_context::new(services, config, &metrics, distribution.capabilities(), cache)?;
    observe::engine(&metrics, &slot_context.engine);
    let (allowed, component_bytes) = (config.registries.clone(), config.sandbox.component_bytes);
    let registries = Registries::new(allowed, component_bytes, config.data_dir.clone());
    let registries = Arc::new(registries.counted(Arc::clone(&metrics)));
    let reloader = Arc::new(Reloader::new(loaded, source, Arc::clone(&deployments)));
    let config = config.clone();
    let (routes, extensions) = (Routes::new(config.services.clone()), Extensions::default());
    let starts = SlotStarts::default();
    let context = ServiceContext {
        config,
        slot_context,
        metrics,
        health,
        deployments,
        starts,
        registries,
        routes,
        reloader,
        extensions,
        services,
    };
    services.iter().try_for_each(|service| service.prepare(&context))?;
    Ok(context)
}

impl Host {
    /// Starts everything that `config` asks for of a binary, and returns once it listens. The first versions of slots may
    /// be ready later, see [`Host::started`].
    ///
    /// # Errors
    /// Returns why the host cannot start, and which key or flag corrects it.
    pub async fn start(distribution: &Distribution, config: Config) -> anyhow::Result<Self> {
        let loaded = Loaded { config, warnings: Vec::new(), set: BTreeMap::new() };
        Self::start_reloading(distribution, loaded, None).await
    }

    /// Starts a host whose configuration can be reloaded while it runs.
    ///
    /// # Errors
    /// See [`Host::start`].
    pub async fn start_reloading(
        distribution: &Distribution,
        loaded: Loaded,
        source: Option<ConfigSource>,
    ) -> anyhow::Result<Self> {
        let (services, page, demo) = (distribution.services, &distribution.start_page, loaded.config.demo);
        let loaded = with_demo(services, loaded, demo);
        let source = source.map(|source| -> ConfigSource {
            Arc::new(move || source().map(|loaded| with_demo(services, loaded, demo)))
        });
        prepare_data_folder(&loaded.config.data_dir)?;
        let data_folder = data_folder::open(&loaded.config.data_dir)?;
        let damaged_files = DamagedFiles::default();
        // A taken port is reported before models are loaded and services start, which may take a minute.
        let shared = listen::reserve("server.listen", loaded.config.server.listen)?;
        let lifecycle = Lifecycle::new();
        let cache = compiled_code::of_host(&loaded.config, &damaged_files)?;
        let context = context(distribution, &loaded, source, lifecycle.clone(), cache, damaged_files)?;
        memory::report(&loaded, context.slot_context.engine.pool_size());
        let (config, routes) = (&context.config, HostRoutes::new(context.routes.clone()));

        let admin = AdminListener::start(config.server.admin_listen, &config.admin, admin_sources(&context))?;
        if let Some(certificates) = admin.certificates() {
            context.health.watch_certificate("admin.tls", Arc::clone(certificates));
        }
        context.routes.set_shared(start::router(page, &context, admin.url())).await?;
        let mut servers = JoinSet::new();
        let heartbeat = Heartbeat::default();
        // Models are loaded and services start while it is served, which may take a minute.
        let public = routes::serve(page, &context, shared, &lifecycle, &heartbeat, &mut servers)?;
        let names = services.iter().map(|service| service.spec().name);
        context.health.await_services(names.filter(|name| config.services.get(name).enabled));
        for service in services {
            service.load(&context).await?;
        }
        sharing::start(&context).await;
        let open = start_services(&context).await;
        // Taken in any case, so that a start that fails ends those of slots.
        let starting = context.starts.take();
        let open = open?;
        context.routes.end_start().await?;
        context.metrics.started();
        servers.spawn(completion::complete(&context, &lifecycle, starting, admin.url()));
        let addresses = Addresses { public, admin: admin.local_addr() };
        let engine = Arc::clone(&context.slot_context.engine);
        let ServiceContext { health, reloader, .. } = context;
        Ok(Self {
            addresses,
            lifecycle,
            routes,
            servers,
            open,
            health,
            reloader,
            engine,
            heartbeat,
            admin,
            _data_folder: data_folder,
        })
    }

    /// Waits until the first version of every slot is ready, or the reason is known why a slot has none. Safe to cancel.
    pub async fn started(&self) {
        self.lifecycle.started().await;
    }

    /// Checks a component as [`Host::start`] does before it may answer: size, format, exports, imports,
    /// compilation, linking and its self-test. Nothing is served, and nothing is written but compiled code: into the host's
    /// cache if its data folder belongs to the user, else into a cache of the user's own.
    ///
    /// # Errors
    /// Returns everything that is wrong with the component, and how to correct it, as
    /// [`ComponentCheckError`](bulkhead_service::ComponentCheckError); else why the component cannot be checked.
    pub async fn check_component(
        distribution: &Distribution,
        config: Config,
        slot: SlotId,
        wasm: Arc<[u8]>,
    ) -> anyhow::Result<ComponentDigest> {
        let loaded = Loaded { config, warnings: Vec::new(), set: BTreeMap::new() };
        let cache = compiled_code::of_check(&loaded.config);
        let is_own = cache.as_ref().is_some_and(|cache| !cache.is_of_host);
        let cache = cache.map(|cache| cache.settings);
        let context = context(distribution, &loaded, None, Lifecycle::new(), cache, DamagedFiles::default())?;
        if is_own {
            context.slot_context.compiler.start_eviction().await;
        }
        let services = distribution.services;
        // A slot of the binary, or one that the configuration names.
        let name = context.config.slots.get(slot).map(|slot| slot.spec.service);
        let owner = services.iter().find(|service| Some(service.spec().name) == name);
        let owner = owner.ok_or_else(|| not_owned(slot))?;
        owner.check(&context, slot, wasm).await
    }

    /// Reloads the configuration. Either every key that can change at run time takes effect, or none does.
    ///
    /// # Errors
    /// Returns why nothing has changed.
    pub async fn reload(&self, actor: &str, reason: &str) -> Result<Reloaded, ReloadError> {
        self.reloader.reload(actor, reason).await
    }

    /// Returns the addresses at which the host listens.
    pub const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Returns whether requests should be sent to the host, and if not, why.
    pub fn health(&self) -> ReadyReport {
        self.health.report()
    }

    /// Describes each slot without a component that may answer.
    pub fn empty_slots(&self) -> Vec<String> {
        self.health.empty_slots()
    }

    /// Waits until the epoch clock and the accept loops of all public listeners have moved after this call. Never returns
    /// while one of them does not. Safe to cancel.
    pub async fn moved(&self) {
        tokio::join!(self.engine.epoch_passed(), self.heartbeat.moved());
    }

    /// Ends readiness, lets requests in flight end within `server.drain_seconds`, and closes storage. Returns whether the
    /// requests of all listeners have ended.
    pub async fn stop(mut self) -> Drain {
        self.lifecycle.shut_down(READINESS_DELAY).await;
        self.routes.stop().await;
        while self.servers.join_next().await.is_some() {}
        self.health.stop();
        for open in self.open.into_iter().rev() {
            open.close().await;
        }
        tracing::info!("stopped");
        // On a blocking thread, because a worker must not wait for the admin thread.
        let admin = self.admin;
        let of_operators = tokio::task::spawn_blocking(move || admin.stop()).await;
        self.lifecycle.drain().and(of_operators.unwrap_or(Drain::Complete))
    }
}

/// Adds the demonstration of each service to a configuration, if there is to be one.
fn with_demo(services: ServiceList, mut loaded: Loaded, demo: bool) -> Loaded {
    if !demo {
        return loaded;
    }
    for service in services {
        // Fails only if the table was not read; such a service needs no demonstration.
        let _ = service.add_demo(&mut loaded.config);
    }
    loaded
}

/// Makes the data folder, and restricts its access to the user of the host.
fn prepare_data_folder(path: &Path) -> anyhow::Result<()> {
    const MODE: u32 = 0o700;
    files::make_data_folder(path)?;
    // Also for a folder that existed before. The host keeps nothing in one of a read-only disk, and its files are closed.
    let is_closed = fs::metadata(path).is_ok_and(|folder| folder.permissions().mode() & 0o777 == MODE);
    let closed = || match is_closed {
        true => Ok(()),
        false => fs::set_permissions(path, fs::Permissions::from_mode(MODE)),
    };
    match closed() {
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            tracing::warn!(folder = %path.display(), "the data folder is open to other users, and its disk is read-only");
            Ok(())
        }
        closed => closed.with_context(|| {
            format!("cannot use {} as data folder; set data_dir to a writable one", path.display())
        }),
    }
}

/// Returns what the operators' listener reads: health, metrics and deployments.
fn admin_sources(context: &ServiceContext) -> AdminSources {
    let (health, metrics) = (Arc::clone(&context.health), Arc::clone(&context.metrics));
    let text = move |accept: Option<&str>| {
        let format = Format::negotiate(accept).unwrap_or(Format::Text);
        (format.content_type(), format.encode(&metrics.gather()).unwrap_or_default())
    };
    AdminSources {
        ready: Arc::new(move || health.report()),
        metrics: Arc::new(text),
        connections: Arc::new(FaultObserver(Arc::clone(&context.metrics))),
        operators: Some(OperatorContext {
            deployments: Arc::clone(&context.deployments),
            reloader: Arc::clone(&context.reloader),
            runtime: Handle::current(),
            registries: Arc::clone(&context.registries),
            component_bytes: context.config.sandbox.component_bytes,
            metrics: Arc::clone(&context.metrics),
        }),
    }
}

/// Starts every enabled service, and returns the parts to close at the end.
async fn start_services(context: &ServiceContext) -> anyhow::Result<Vec<Box<dyn Close>>> {
    let mut opened = Vec::new();
    for service in context.services {
        // Before the service, so that the shared state is closed after the service whose database it is in.
        opened.extend(sharing::open(context, *service));
        let name = service.spec().name;
        if !context.config.services.get(name).enabled {
            continue;
        }
        let Started { routers, open } = service.start(context).await?;
        context.routes.set(name, "", routers).await?;
        context.health.service_started(name);
        opened.extend(open);
    }
    Ok(opened)
}
