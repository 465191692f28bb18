//! The host as one thing: everything that a configuration asks for, started and stopped.

mod captcha;
mod component;
mod embedding;
mod heads;
mod health;
mod knowledge;
mod listeners;
mod models;
mod observe;
mod sharing;
mod slot_context;
mod start;
mod status;
mod tickets;

use std::{
    collections::BTreeMap, fs, net::SocketAddr, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use tokio::{runtime::Handle, task::JoinSet};

pub use self::component::MayNotAnswer;
use self::{captcha::CaptchaParts, health::HostHealth, listeners::Listeners, observe::FaultObserver};
use crate::{
    admin::{self, Admin, Operators},
    appointments::Collector,
    background,
    capabilities::SlotResources,
    compile::ComponentDigest,
    config::{
        Config, Loaded,
        slots::{Slot as SlotSettings, SlotId},
    },
    deploy::{ConfigSource, DeploymentRegistry, LocalStore, ReloadError, Reloaded, Reloader, SharedState},
    files,
    http::{
        accept,
        layers::{self, Layers},
        lifecycle::{Drain, Lifecycle, Stopping},
        listen,
        tls::Certificates,
    },
    inference::{Gate, Inference, metrics::InferenceMetrics},
    pow::Pow,
    registry::Registries,
    services::{
        list::{self, name},
        triage::Rules,
    },
    slots::SlotContext,
    storage::Ledger,
    telemetry::{Metrics, exposition::Format},
};

/// Folder of generated secrets, in the data folder.
const SECRETS: &str = "secrets";
/// The generated secret that authenticates what the host writes for itself, in that folder.
const HOST_KEY: &str = "host.key";
/// Folder of pushed components and of what answers, in the data folder.
const SLOTS: &str = "slots";
/// Time between readiness flipping and the listeners closing.
const NOTICE: Duration = Duration::ZERO;

/// Where a host listens, with port 0 resolved.
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
    servers: JoinSet<()>,
    opened: Opened,
    health: Arc<HostHealth>,
    reloader: Arc<Reloader>,
    // Last, so that operators see a host drain.
    admin: Admin,
}

/// What services are built from.
struct Parts<'a> {
    config: &'a Config,
    context: SlotContext,
    pow: Arc<Pow>,
    /// What tickets are decided by.
    rules: Option<Rules>,
    /// None where nobody embeds.
    inference: Option<Arc<Inference>>,
    inference_metrics: Arc<InferenceMetrics>,
    /// What may be asked about tickets, besides the components.
    advisers: tickets::Advisers,
    metrics: Arc<Metrics>,
    health: Arc<HostHealth>,
    deployments: Arc<DeploymentRegistry>,
    /// Where components may be pulled from.
    registries: Arc<Registries>,
}

impl<'a> Parts<'a> {
    fn new(config: &'a Config, lifecycle: Lifecycle) -> anyhow::Result<Self> {
        let metrics = Arc::new(Metrics::new(config.data_dir.clone(), config.slots.ids())?);
        list::register_metrics(&metrics)?;
        observe::connections(&metrics);
        let built_in = config.slots.each().filter_map(|slot| Some((slot.id(), slot.spec.component?)));
        let store = LocalStore::new(config.data_dir.join(SLOTS))
            .with_key(config.data_dir.join(SECRETS).join(HOST_KEY))
            .with_built_in(built_in);
        let deployments = DeploymentRegistry::new(Arc::new(store), sharing::shared(config, &metrics)?);
        let deployments = Arc::new(deployments.with_expected(config.slots.ids()));
        let health = Arc::new(HostHealth::new(lifecycle, Arc::clone(&deployments)));
        let rules = tickets::rules(config)?;
        let context = slot_context::new(config, &metrics)?;
        observe::engine(&metrics, &context.engine);
        let pow = Pow::start(config.sandbox.pow_threads, config.sandbox.pow_queue).map(Arc::new);
        let pow = pow.context("cannot start the proof-of-work threads; lower sandbox.pow_threads")?;
        let advisers = tickets::Advisers::new(config.table()?, &metrics)?;
        let (allowed, component_bytes) = (config.registries.clone(), config.sandbox.component_bytes);
        let registries = Registries::new(allowed, component_bytes, config.data_dir.clone());
        let registries = Arc::new(registries.counted(Arc::clone(&metrics)));
        let inference_metrics = metrics.set()?;
        Ok(Self {
            config,
            context,
            pow,
            rules,
            inference: None,
            inference_metrics,
            advisers,
            metrics,
            health,
            deployments,
            registries,
        })
    }

    /// Returns the settings of a slot of this binary.
    fn slot(&self, id: SlotId) -> anyhow::Result<&'a SlotSettings> {
        self.config.slots.get(id).with_context(|| format!("this host has no slot {id}"))
    }

    /// A slot's resources, before its service has added to them: proof-of-work threads and models are for all slots.
    fn resources(&self, settings: &SlotSettings) -> SlotResources {
        let mut resources = SlotResources::new(settings, Arc::clone(&self.metrics));
        resources.insert(Arc::clone(&self.pow));
        resources.insert(Arc::new(self.gate(settings)));
        resources
    }

    /// A slot's way to the models.
    fn gate(&self, settings: &SlotSettings) -> Gate {
        Gate::new(settings, self.inference.clone(), self.inference_metrics.slot(settings.id()))
    }
}

/// What is closed at the end.
#[derive(Debug, Default)]
struct Opened {
    ledger: Option<Ledger>,
    appointments: Option<Collector>,
    shared: Option<Arc<SharedState>>,
}

impl Host {
    /// Starts everything that `config` asks for and returns once it listens.
    ///
    /// # Errors
    /// What stands in the way, and which key or flag mends it.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        Self::start_reloading(Loaded { config, warnings: Vec::new(), set: BTreeMap::new() }, None).await
    }

    /// The same for a configuration that can be read again while the host runs.
    ///
    /// # Errors
    /// See [`Host::start`].
    pub async fn start_reloading(loaded: Loaded, source: Option<ConfigSource>) -> anyhow::Result<Self> {
        let demo = loaded.config.demo;
        let loaded = demonstrating(loaded, demo);
        let add_demo = move |loaded| demonstrating(loaded, demo);
        let source = source.map(|read| -> ConfigSource { Arc::new(move || read().map(add_demo)) });
        let config = loaded.config.clone();
        data_folder(&config.data_dir)?;
        let lifecycle = Lifecycle::new();
        let mut parts = Parts::new(&config, lifecycle.clone())?;
        let health = Arc::clone(&parts.health);

        let reloader = Arc::new(Reloader::new(&loaded, source, Arc::clone(&parts.deployments)));
        let sources = admin_sources(&parts, &reloader);
        let admin = Admin::start(config.server.admin_listen, &config.admin, sources)?;
        let mut listeners = Listeners::default();
        listeners.merge(None, "server.listen", start::router(&parts, admin.url()));
        parts.inference = models::load(&parts).await?;
        sharing::start(&parts).await;
        let opened = services(&parts, &reloader, &mut listeners).await?;
        parts.deployments.mark_complete();
        parts.metrics.started();

        let layers = Layers::new(&config.server, parts.metrics.clone());
        let certificates = config.server.tls.as_ref().map(Certificates::load).transpose();
        let certificates =
            certificates.context("cannot serve TLS with --tls-cert and --tls-key (server.tls)")?;
        let settings = accept::Settings::new(&config.server, parts.metrics.clone());
        let mut servers = JoinSet::new();
        let mut public = config.server.listen;
        for (address, setting, router) in listeners.0 {
            let bound = listen::bind(setting, address.unwrap_or(config.server.listen), certificates.clone())?;
            tracing::info!(url = bound.url(), setting, "listening");
            if address.is_none() {
                public = bound.local_addr();
            }
            let innermost = start::innermost(config.demo && address.is_none());
            let router = layers::around(router, Layers { innermost, ..layers.clone() });
            servers.spawn(accept::serve(bound, router, settings.clone(), lifecycle.stopping()));
        }
        if let Some(certificates) = certificates {
            servers.spawn(certificates.watch(lifecycle.stopping()));
        }
        servers.spawn(precompile(&parts, lifecycle.stopping()));
        lifecycle.ready();
        parts.metrics.ready();
        let addresses = Addresses { public, admin: admin.local_addr() };
        let (admin_url, version) = (admin.url(), env!("CARGO_PKG_VERSION"));
        if health.report().is_ready() {
            tracing::info!(admin = admin_url, version, "ready");
        } else {
            tracing::warn!(admin = admin_url, version, "serving, but not ready; /health/ready says why");
        }
        Ok(Self { addresses, lifecycle, servers, opened, health, reloader, admin })
    }

    /// Checks a component as [`Host::start`] would before it may answer: size, form, exports, imports,
    /// compilation, linking and its self-test. Nothing is served and nothing is written.
    ///
    /// # Errors
    /// Everything that is wrong with it, and what mends it, as [`MayNotAnswer`]; else why it cannot be checked.
    pub async fn check_component(
        mut config: Config,
        slot: SlotId,
        wasm: Arc<[u8]>,
    ) -> anyhow::Result<ComponentDigest> {
        config.sandbox.cache = false;
        let parts = Parts::new(&config, Lifecycle::new())?;
        match slot {
            list::CAPTCHA => captcha::check(&parts, wasm).await,
            list::TRIAGE => tickets::check_triage(&parts, wasm).await,
            list::ANSWER => tickets::check_answer(&parts, wasm).await,
            list::STATUS => status::check(&parts, wasm).await,
            other => anyhow::bail!("no service of this host owns the slot {other}"),
        }
    }

    /// Reads the configuration anew: what can change while the host runs changes, or nothing does.
    ///
    /// # Errors
    /// Why everything is as it was.
    pub async fn reload(&self, actor: &str, reason: &str) -> Result<Reloaded, ReloadError> {
        self.reloader.reload(actor, reason).await
    }

    /// Where it listens.
    pub const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Flips readiness, lets requests in flight end within `server.drain_seconds`, and closes storage. Returns how the
    /// requests of all listeners have ended.
    pub async fn stop(mut self) -> Drain {
        self.lifecycle.shut_down(NOTICE).await;
        while self.servers.join_next().await.is_some() {}
        self.health.stop();
        if let Some(ledger) = &self.opened.ledger
            && let Err(error) = ledger.close().await
        {
            tracing::error!(%error, "the ledger did not close cleanly");
        }
        if let Some(shared) = &self.opened.shared {
            shared.stop().await;
        }
        if let Some(appointments) = &self.opened.appointments {
            appointments.close().await;
        }
        tracing::info!("stopped");
        // Joins the admin thread, which a worker must not wait for.
        let admin = self.admin;
        let of_operators = tokio::task::spawn_blocking(move || admin.stop()).await;
        self.lifecycle.drain().and(of_operators.unwrap_or(Drain::Complete))
    }
}

/// A configuration with what a demonstration adds to each service whose table it has.
fn demonstrating(mut loaded: Loaded, demo: bool) -> Loaded {
    let adds = [captcha::add_demo_site, status::add_demo_token, tickets::add_demo_contacts];
    for add in adds.into_iter().filter(|_| demo) {
        let _ = add(&mut loaded.config);
    }
    loaded
}

fn data_folder(path: &Path) -> anyhow::Result<()> {
    files::make_data_folder(path)?;
    // Whoever made it before.
    let closed = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    closed.with_context(|| {
        format!("cannot use {} as data folder; set data_dir to a writable one", path.display())
    })
}

/// Compiles what rollbacks go back to, now that all that answers has been compiled, and loads it where a watch goes on.
fn precompile(parts: &Parts<'_>, mut stopping: Stopping) -> impl Future<Output = ()> + use<> {
    let (compiler, deployments) = (Arc::clone(&parts.context.compiler), Arc::clone(&parts.deployments));
    let store = Arc::clone(deployments.store());
    async move {
        let compiled = async {
            // A rollback on a full disk is written thanks to it.
            let _ = background::run(move || store.ensure_reserve()).await;
            compiler.start_eviction().await;
            for slot in deployments.all() {
                Arc::clone(&slot).precompile().await;
                slot.hold_predecessor();
            }
        };
        tokio::select! {
            () = compiled => {}
            () = stopping.wait() => {}
        }
    }
}

fn admin_sources(parts: &Parts<'_>, reloader: &Arc<Reloader>) -> admin::Sources {
    let (health, metrics) = (Arc::clone(&parts.health), Arc::clone(&parts.metrics));
    let text = move |accept: Option<&str>| {
        let format = Format::negotiate(accept).unwrap_or(Format::Text);
        (format.content_type(), format.encode(&metrics.gather()).unwrap_or_default())
    };
    admin::Sources {
        ready: Arc::new(move || health.report()),
        metrics: Arc::new(text),
        connections: Arc::new(FaultObserver(Arc::clone(&parts.metrics))),
        operators: Some(Operators {
            deployments: Arc::clone(&parts.deployments),
            reloader: Arc::clone(reloader),
            runtime: Handle::current(),
            registries: Arc::clone(&parts.registries),
            component_bytes: parts.config.sandbox.component_bytes,
            metrics: Arc::clone(&parts.metrics),
        }),
    }
}

/// Builds every service that is on, and gives back what is to be closed.
async fn services(
    parts: &Parts<'_>,
    reloader: &Reloader,
    listeners: &mut Listeners,
) -> anyhow::Result<Opened> {
    let mut opened = Opened { shared: parts.deployments.shared().cloned(), ..Opened::default() };
    let service = |name| parts.config.services.get(name);
    let own = service(name::EMBEDDING);
    if let Some(inference) = parts.inference.as_ref().filter(|_| own.enabled) {
        let router = embedding::build(parts, inference, reloader).await?;
        listeners.add(own, "services.embedding.listen", router);
    }
    let own = service(name::TICKETS);
    if own.enabled {
        let router = tickets::build(parts, reloader).await?;
        listeners.add(own, "services.tickets.listen", router);
    }
    let own = service(name::STATUS);
    if own.enabled {
        let (router, appointments) = status::build(parts, reloader).await?;
        listeners.add(own, "services.status.listen", router);
        opened.appointments = Some(appointments);
    }
    let own = service(name::CAPTCHA);
    if !own.enabled {
        return Ok(opened);
    }
    let CaptchaParts { router, probes, actuator, management, ledger } =
        captcha::build(parts, reloader).await?;
    listeners.add(own, "services.captcha.listen", router);
    listeners.add(own, "services.captcha.listen", probes);
    match management {
        None => listeners.add(own, "services.captcha.listen", actuator),
        address => listeners.merge(address, "management.server.port", actuator),
    }
    opened.ledger = Some(ledger);
    Ok(opened)
}
