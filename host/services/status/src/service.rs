//! The status service as a host starts it, from its configuration.

use std::sync::Arc;

use anyhow::Context as _;
use bulkhead_appointments::{Clock, Collector, CollectorOptions, DatabaseLocation, Demo, Section};
use bulkhead_config::{
    Config, ServiceSpec,
    alias::Aliases,
    slots::SlotId,
    tables::{MissingTable, TableSpec},
};
use bulkhead_pow::Pow;
use bulkhead_rollout::LiveKeys;
use bulkhead_runtime::api_keys::token_hash;
use bulkhead_runtime::capabilities::CapabilitySet;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::{AuthorFiles, SlotWorld};
use bulkhead_service::{
    Close, CommandSpec, PageEntry, PageForm, PageGuide, Service, ServiceContext, ServiceFuture, Started,
    check_component, not_owned,
};
use futures_util::future::LocalBoxFuture;

use crate::{
    Status, StatusService,
    alias::ALIASES,
    author_files::AUTHOR_FILES,
    capabilities::appointments::AppointmentsCapability,
    command::Command,
    config::{AppointmentDatabase, StatusSettings, TokenHash, embedded_appointments},
    http::{self, StatusState},
    spec::{NAME, SPEC, STATUS},
};

/// The token of `--demo`.
const DEMO: &str = "demo";
/// Number of appointments of `--demo`, and the seed of its random numbers.
const DEMO_ROWS: u32 = 5000;
const DEMO_SEED: u64 = 1;

/// The status service in the list of services.
#[derive(Clone, Copy, Debug)]
pub struct StatusPlugin;

impl Service for StatusPlugin {
    fn spec(&self) -> ServiceSpec {
        SPEC
    }

    fn tables(&self) -> &'static [TableSpec] {
        const { &[TableSpec::of::<StatusSettings>()] }
    }

    fn worlds(&self) -> &'static [SlotWorld] {
        const { &[SlotWorld::of::<Status>(STATUS)] }
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
        capabilities.with(AppointmentsCapability)
    }

    fn add_demo(&self, config: &mut Config) -> Result<(), MissingTable> {
        config.edit_table::<StatusSettings>(|status| status.tokens.push(TokenHash(token_hash(DEMO))))
    }

    fn page_entry(&self, config: &Config) -> PageEntry {
        let base_path = config.table::<StatusSettings>().map(|status| status.base_path.clone());
        PageEntry {
            base_path: base_path.unwrap_or_default(),
            about: "Figures of an appointment system",
            form: Some(PageForm {
                html: include_str!("page/form.html"),
                script: include_str!("page/form.js"),
            }),
            guide: Some(PageGuide { title: "Status", text: include_str!("../README.md") }),
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
            match slot {
                STATUS => check(context, wasm).await,
                other => Err(not_owned(other)),
            }
        })
    }
}

/// The collector, while its connections are open.
#[derive(Debug)]
struct OpenCollector(Collector);

impl Close for OpenCollector {
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move { self.0.close().await })
    }
}

/// Starts the service and returns its routes.
async fn build(context: &ServiceContext) -> anyhow::Result<Started> {
    let config = &context.config;
    let settings: &StatusSettings = config.table()?;
    let clock = clock(settings)?;
    let place = match &settings.database {
        AppointmentDatabase::Embedded if config.demo => demonstration(config, &clock).await?,
        database => place(database, config),
    };
    let collector = collector(settings, place, clock)?;
    let slot = context.slot(STATUS)?;
    let resources = context.resources(slot)?;
    let service =
        StatusService::new(settings, slot, context.slot_context.clone(), resources, collector.clone());
    context.deploy(service.slot()).await;
    if settings.tokens.is_empty() {
        tracing::warn!(
            "no status token is configured, so only users who are logged in may read the status; add one to status.tokens"
        );
    }
    let access = if settings.tokens.is_empty() { "guarded by logins" } else { "guarded by tokens" };
    tracing::info!(service = http::SERVICE, access, "the service runs");
    let prefix = &config.services.get(NAME).path_prefix;
    let pow = context.extensions.get::<Pow>().context("no service of this host has proof-of-work threads")?;
    let state = StatusState::new(service, settings, prefix, pow)
        .context("cannot draw a random key for rate limits")?;
    let tokens = state.tokens();
    let reload = move |config: &Config| {
        if let Ok(status) = config.table::<StatusSettings>() {
            tokens.replace(status.tokens.iter().map(|token| token.0));
        }
    };
    context.reloader.subscribe(LiveKeys::always(&["status.tokens"]), Box::new(reload)).await;
    Ok(Started {
        open: vec![Box::new(OpenCollector(collector))],
        ..Started::with_router(http::router(state))
    })
}

/// Checks a component without serving or writing anything.
async fn check(context: &ServiceContext, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    let settings: &StatusSettings = context.config.table()?;
    let collector = collector(settings, place(&settings.database, &context.config), clock(settings)?)?;
    let slot = context.slot(STATUS)?;
    let resources = context.resources(slot)?;
    let service = StatusService::new(settings, slot, context.slot_context.clone(), resources, collector);
    Ok(check_component(service.slot(), wasm, "check").await?.digest)
}

/// Returns a clock in the configured time zone.
fn clock(settings: &StatusSettings) -> anyhow::Result<Clock> {
    Clock::new(&settings.time_zone).context("status.time_zone names no time zone")
}

/// Creates a collector, which does not connect yet.
fn collector(settings: &StatusSettings, place: DatabaseLocation, clock: Clock) -> anyhow::Result<Collector> {
    let options = CollectorOptions {
        location: place,
        clock,
        statement_timeout: settings.statement_timeout,
        max_age: settings.max_stale,
    };
    let refresh = &settings.refresh;
    let time_to_live = |section| match section {
        Section::Database => refresh.database,
        Section::Processes => refresh.processes,
        Section::Slots => refresh.slots,
        Section::Mail => refresh.mail,
        Section::Sources => refresh.sources,
        Section::Sessions => refresh.sessions,
    };
    Ok(Collector::new(options, time_to_live)?)
}

/// Returns the location of the configured database.
fn place(database: &AppointmentDatabase, config: &Config) -> DatabaseLocation {
    match database {
        AppointmentDatabase::Embedded => DatabaseLocation::Sqlite(embedded_appointments(config)),
        AppointmentDatabase::Sqlite(path) => DatabaseLocation::Sqlite(path.clone()),
        AppointmentDatabase::MariaDb(url) => DatabaseLocation::MariaDb(url.expose().to_owned()),
        AppointmentDatabase::Postgres(url) => DatabaseLocation::Postgres(url.expose().to_owned()),
    }
}

/// Creates a database of invented appointments. It is replaced at every start, so that its times are of today.
async fn demonstration(config: &Config, clock: &Clock) -> anyhow::Result<DatabaseLocation> {
    let file = config.data_dir.join("demo").join("appointments.sqlite");
    let demo = Demo { rows: DEMO_ROWS, seed: DEMO_SEED, now: Clock::now(), clock: clock.clone() };
    demo.replace(&file).await.context("cannot make the demonstration's appointments")?;
    Ok(DatabaseLocation::Sqlite(file))
}
