//! Starts the captcha service from its configuration, and checks its components.

mod health;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::http::HeaderMap;
use bulkhead_captcha_configuration::alias::ALIASES;
use bulkhead_config::{
    Config, ServiceSpec,
    alias::Aliases,
    secret::Secret,
    slots::{SlotId, SlotSettings},
    tables::{MissingTable, TableSpec},
};
use bulkhead_ledger::{ANSWER_TIMEOUT, Backend, Ledger, LedgerOptions};
use bulkhead_os::damaged_files::DamagedFiles;
use bulkhead_pow::Pow;
use bulkhead_rollout::LiveKeys;
use bulkhead_runtime::capabilities::{CapabilitySet, SlotResources};
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::keys::MasterKey;
use bulkhead_runtime::slots::{AuthorFiles, SlotWorld};
use bulkhead_service::{
    CommandSpec, HostHealth, MetricRegistrar, PageEntry, PageForm, PageGuide, SECRETS_DIR, ServedAt, Service,
    ServiceContext, ServiceFuture, ServiceList, SharedDatabase, Started, check_component, not_owned,
};

use self::health::{ActuatorHealth, LEDGER, OpenLedger};
use crate::{
    CaptchaService,
    actuator::{self, ActuatorState, Application},
    author_files::AUTHOR_FILES,
    capabilities::{ledger::LedgerCapability, pow::PowCapability},
    command::Command,
    config::{Captcha, Database, OnLedgerFailure, Site, management::Management},
    http::{self, CaptchaState, Guard, WidgetFiles, demo},
    metrics::{CaptchaMetrics, LedgerTable, pool::PoolMetrics},
    spec::{CAPTCHA, NAME, SPEC},
    world,
};

/// Shortest timeout of the ledger's database, however short the deadline of a call: a disk flush may take as long.
const MIN_ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// The description of the application in `/actuator/info`.
const DESCRIPTION: &str =
    "A WebAssembly component host for embedding, ticket triage, status and captcha services";

/// Key and secret of the demo site.
const DEMO: &str = "demo";

const METRICS: &[MetricRegistrar] =
    &[MetricRegistrar::of::<CaptchaMetrics>(), MetricRegistrar::of::<PoolMetrics>()];

/// The captcha service as an entry in the list of services; its [`Service::start`] creates the running
/// [`CaptchaService`]. It owns the proof-of-work threads, which other services use too.
#[derive(Clone, Copy, Debug)]
pub struct CaptchaPlugin;

impl Service for CaptchaPlugin {
    fn spec(&self) -> ServiceSpec {
        SPEC
    }

    fn metrics(&self) -> &'static [MetricRegistrar] {
        METRICS
    }

    fn tables(&self) -> &'static [TableSpec] {
        const { &[TableSpec::of::<Captcha>(), TableSpec::of::<Management>()] }
    }

    fn worlds(&self) -> &'static [SlotWorld] {
        const { &[SlotWorld::of::<world::Captcha>(CAPTCHA)] }
    }

    fn author_files(&self) -> AuthorFiles {
        AUTHOR_FILES
    }

    fn aliases(&self) -> Aliases {
        ALIASES
    }

    fn commands(&self) -> &'static [CommandSpec] {
        const { &[CommandSpec::of::<Command>()] }
    }

    fn add_capabilities(&self, capabilities: CapabilitySet) -> CapabilitySet {
        capabilities.with(PowCapability).with(LedgerCapability)
    }

    fn check_files(&self, config: &Config, _services: ServiceList) -> anyhow::Result<Vec<String>> {
        let files = WidgetFiles::configured(config.table::<Captcha>()?)?;
        Ok(files.as_ref().and_then(WidgetFiles::warning).into_iter().collect())
    }

    fn add_demo(&self, config: &mut Config) -> Result<(), MissingTable> {
        add_demo_site(config)
    }

    fn shared_database(&self, config: &Config) -> Option<SharedDatabase> {
        match &config.table::<Captcha>().ok()?.database {
            Database::Postgres(url) => Some(SharedDatabase { url: url.clone(), setting: "captcha.database" }),
            Database::EmbeddedSqlite | Database::Sqlite(_) => None,
        }
    }

    fn page_entry(&self, _config: &Config) -> PageEntry {
        PageEntry {
            about: "Proof of work in place of puzzles",
            form: Some(PageForm {
                html: include_str!("page/form.html"),
                script: include_str!("page/form.js"),
            }),
            guide: Some(PageGuide { title: "Captcha", text: include_str!("../README.md") }),
            ..PageEntry::default()
        }
    }

    fn prepare(&self, context: &ServiceContext) -> anyhow::Result<()> {
        let sandbox = &context.config.sandbox;
        let pow = Pow::start(sandbox.pow_threads, sandbox.pow_queue).map(Arc::new);
        let pow = pow.context("cannot start the proof-of-work threads; lower sandbox.pow_threads")?;
        context.extensions.insert(pow);
        Ok(())
    }

    fn provide(
        &self,
        context: &ServiceContext,
        _settings: &SlotSettings,
        resources: &mut SlotResources,
    ) -> anyhow::Result<()> {
        if let Some(pow) = context.extensions.get::<Pow>() {
            resources.insert(pow);
        }
        Ok(())
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
            match slot {
                CAPTCHA => check(context, wasm).await,
                other => Err(not_owned(other)),
            }
        })
    }
}

/// Adds a site with a public secret.
fn add_demo_site(config: &mut Config) -> Result<(), MissingTable> {
    let site =
        Site { secrets: vec![Secret::new(DEMO)], allowed_origins: vec!["*".into()], ..Site::default() };
    config.edit_table::<Captcha>(|captcha| {
        captcha.sites.entry(DEMO.into()).or_insert(site);
    })
}

async fn build(context: &ServiceContext) -> anyhow::Result<Started> {
    let config = &context.config;
    let settings: &Captcha = config.table()?;
    let slot = context.slot(CAPTCHA)?;
    let damaged_files = context.health.damaged_files();
    let ledger = open_ledger(settings, config, slot.limits.deadline, damaged_files).await?;
    let masters = masters(settings, config, &context.health)?;
    let metrics = context.metrics.set::<CaptchaMetrics>()?;
    let service = CaptchaService::new(
        settings,
        slot,
        context.slot_context.clone(),
        context.resources(slot)?,
        &masters,
        ledger.clone(),
        Arc::clone(&metrics),
    );
    let service = Arc::new(service);
    context.deploy(service.slot()).await;
    watch(context, &ledger, metrics, context.metrics.set()?);
    if settings.sites.is_empty() {
        tracing::warn!(
            "no captcha site is configured, so every call is answered with 401; add one under captcha.sites"
        );
    }
    let served = Arc::clone(&service);
    let on_reload = move |config: &Config| {
        if let Ok(captcha) = config.table::<Captcha>() {
            served.replace_sites(&captcha.sites);
        }
    };
    context.reloader.subscribe(LiveKeys::always(&["captcha.sites"]), Box::new(on_reload)).await;
    let prefix = &config.services.get(NAME).path_prefix;
    let state = CaptchaState::new(Arc::clone(&service), settings, &config.server, prefix)?;
    let guard = state.guard.clone();
    let guarded = Arc::clone(&guard);
    let on_reload = move |config: &Config| {
        if let Ok(captcha) = config.table::<Captcha>() {
            guarded.replace_keys(&captcha.auth);
        }
    };
    // A change of the authentication mode needs a restart.
    let live_keys = LiveKeys { keys: &["captcha.api_keys"], restart_keys: &["captcha.auth"] };
    context.reloader.subscribe(live_keys, Box::new(on_reload)).await;
    let mut router = http::router(state);
    if config.demo {
        router = router.merge(demo::router());
    }
    let management: &Management = config.table()?;
    let state = actuator_state(context, management.clone(), guard);
    let management = match management.listen {
        None => ServedAt::Service,
        Some(address) => ServedAt::Address { address, setting: "management.server.port".into() },
    };
    let routers = vec![
        (ServedAt::Service, router),
        (ServedAt::Service, actuator::probes(state.clone())),
        (management, actuator::router(state)),
    ];
    Ok(Started { routers, open: vec![Box::new(OpenLedger(ledger))] })
}

/// Returns the state of the actuator endpoints. Only callers that the guard authenticates see details.
fn actuator_state(context: &ServiceContext, management: Management, guard: Arc<Guard>) -> ActuatorState {
    let authorized = move |headers: &HeaderMap| {
        let (guard, headers) = (guard.clone(), headers.clone());
        let authenticated = async move { guard.authenticates(&headers).await };
        Box::pin(authenticated) as std::pin::Pin<Box<dyn Future<Output = bool> + Send>>
    };
    ActuatorState {
        metrics: Arc::clone(&context.metrics),
        management,
        health: Arc::new(ActuatorHealth(Arc::clone(&context.health))),
        authorized: Arc::new(authorized),
        application: Application {
            name: "bulkhead",
            version: env!("CARGO_PKG_VERSION"),
            description: DESCRIPTION,
        },
    }
}

async fn open_ledger(
    settings: &Captcha,
    config: &Config,
    deadline: Duration,
    damaged_files: &DamagedFiles,
) -> anyhow::Result<Ledger> {
    let backend = match &settings.database {
        Database::EmbeddedSqlite => Backend::Sqlite(config.data_dir.join("captcha.sqlite")),
        Database::Sqlite(path) => Backend::Sqlite(path.clone()),
        Database::Postgres(url) => Backend::Postgres(url.expose().to_owned()),
    };
    let options = LedgerOptions {
        lenient: settings.on_ledger_failure == OnLedgerFailure::Allow,
        clock: settings.clock.clone(),
        challenge_life: settings.captcha_timeout,
        answer_timeout: answer_timeout(deadline),
        damaged_files: damaged_files.clone(),
        ..LedgerOptions::new(settings.source_address_window, settings.database_connections)
    };
    Ledger::open_when_reached(backend, options)
        .await
        .context("cannot open the captcha ledger; check captcha.database")
}

/// Returns how long a call with this deadline waits for the ledger's database: two fifths of the deadline, so that time
/// remains after two such waits.
fn answer_timeout(deadline: Duration) -> Duration {
    deadline.mul_f64(0.4).clamp(MIN_ANSWER_TIMEOUT, ANSWER_TIMEOUT)
}

/// Returns the master keys, the current one first. A generated one that the disk does not take is kept until the host stops.
fn masters(settings: &Captcha, config: &Config, health: &HostHealth) -> anyhow::Result<Vec<MasterKey>> {
    const CHECK: &str = "captcha key";
    let file = config.data_dir.join(SECRETS_DIR).join("captcha.key");
    let generated = || match MasterKey::load_or_generate(&file, health.damaged_files()) {
        // Another key does not take the place of one that cannot be read.
        Err(error) if error.is_of_disk() => {
            tracing::error!(%error, "the key of challenges cannot be kept; the next start does not accept them");
            let reason = "it cannot be kept in the data folder, so that the next start accepts no challenge of this one";
            health.set_faults(CHECK, [(CHECK.to_owned(), reason.to_owned())]);
            MasterKey::generate()
        }
        key => key,
    };
    let current = match &settings.hmac_key {
        Some(key) => MasterKey::new(key.expose()),
        None => generated()?,
    };
    let previous = settings.previous_hmac_keys.iter().map(|key| MasterKey::new(key.expose()));
    Ok([current].into_iter().chain(previous).collect())
}

/// Checks a component without serving or writing anything.
async fn check(context: &ServiceContext, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    let settings: &Captcha = context.config.table()?;
    let slot = context.slot(CAPTCHA)?;
    let options = LedgerOptions::new(settings.source_address_window, 1);
    let ledger = Ledger::open(Backend::Memory, options).await?;
    let service = CaptchaService::new(
        settings,
        slot,
        context.slot_context.clone(),
        context.resources(slot)?,
        &[MasterKey::new("check")],
        ledger,
        context.metrics.set()?,
    );
    Ok(check_component(service.slot(), wasm, "check").await?.digest)
}

/// Adds the ledger to health checks and metrics.
fn watch(context: &ServiceContext, ledger: &Ledger, captcha: Arc<CaptchaMetrics>, pool: Arc<PoolMetrics>) {
    context.health.watch(LEDGER, Box::new(OpenLedger(ledger.clone())));
    let ledger = ledger.clone();
    context.metrics.before_scrape(move |_| {
        let rows = ledger.rows();
        captcha.set_rows(LedgerTable::CaptchaRequest, Some(rows.captcha_request));
        captcha.set_rows(LedgerTable::InvalidatedPayload, Some(rows.invalidated_payload));
        captcha.set_claims_without_ledger(ledger.granted_without_database());
        pool.set(&ledger.pool_stats());
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::CAPTCHA_LIMITS;

    #[test]
    fn two_ledger_timeouts_fit_into_a_deadline() {
        let millis = |deadline| answer_timeout(Duration::from_millis(deadline)).as_millis();
        assert!(2 * answer_timeout(CAPTCHA_LIMITS.deadline) < CAPTCHA_LIMITS.deadline);
        assert_eq!([1, 1250, 2000, 5000, 600_000].map(millis), [500, 500, 800, 2000, 2000]);
    }
}
