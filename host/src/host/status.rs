//! Builds the status service from its configuration.

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;

use super::{Parts, component};
use crate::{
    appointments::{Clock, Collector, Demo, Options, Place, Section},
    compile::ComponentDigest,
    config::{Config, tables::MissingTable},
    deploy::{LiveKeys, Reloader},
    keys::token_hash,
    services::{
        list::{STATUS, name},
        status::{
            StatusService,
            config::{AppointmentDatabase, Status, TokenHash, embedded_appointments},
            http::{self, StatusState},
        },
    },
};

/// The demonstration's token.
const DEMO: &str = "demo";
/// Appointments of the demonstration, and the seed of its dice.
const DEMO_ROWS: u32 = 5000;
const DEMO_SEED: u64 = 1;

/// Adds a token that everybody knows.
pub(super) fn add_demo_token(config: &mut Config) -> Result<(), MissingTable> {
    config.edit_table::<Status>(|status| status.tokens.push(TokenHash(token_hash(DEMO))))
}

pub(super) async fn build(parts: &Parts<'_>, reloader: &Reloader) -> anyhow::Result<(Router, Collector)> {
    let config = parts.config;
    let settings: &Status = config.table()?;
    let clock = clock(settings)?;
    let place = match &settings.database {
        AppointmentDatabase::Embedded if config.demo => demonstration(config, &clock).await?,
        database => place(database, config),
    };
    let collector = collector(settings, place, clock)?;
    let slot = parts.slot(STATUS)?;
    let resources = parts.resources(slot);
    let service = StatusService::new(settings, slot, parts.context.clone(), resources, collector.clone());
    component::fill(parts, service.slot()).await;
    if settings.tokens.is_empty() {
        tracing::warn!(
            "no status token is configured, so only users who are logged in may read the status; add one to status.tokens"
        );
    }
    let access = if settings.tokens.is_empty() { "guarded by logins" } else { "guarded by tokens" };
    tracing::info!(service = http::SERVICE, access, "service on");
    let prefix = &config.services.get(name::STATUS).path_prefix;
    let state = StatusState::new(service, settings, prefix, Arc::clone(&parts.pow))
        .context("cannot draw a random key for rate limits")?;
    let tokens = state.tokens();
    let follow = move |config: &Config| {
        if let Ok(status) = config.table::<Status>() {
            tokens.replace(status.tokens.iter().map(|token| token.0));
        }
    };
    reloader.subscribe(LiveKeys::always(&["status.tokens"]), Box::new(follow)).await;
    Ok((http::router(state), collector))
}

/// Checks a component without serving or writing anything.
pub(super) async fn check(parts: &Parts<'_>, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    let settings: &Status = parts.config.table()?;
    let collector = collector(settings, place(&settings.database, parts.config), clock(settings)?)?;
    let slot = parts.slot(STATUS)?;
    let resources = parts.resources(slot);
    let service = StatusService::new(settings, slot, parts.context.clone(), resources, collector);
    Ok(component::try_out(service.slot(), wasm, "check").await?.digest)
}

fn clock(settings: &Status) -> anyhow::Result<Clock> {
    Clock::new(&settings.time_zone).context("status.time_zone names no time zone")
}

/// Connects to nothing yet.
fn collector(settings: &Status, place: Place, clock: Clock) -> anyhow::Result<Collector> {
    let options =
        Options { place, clock, statement_timeout: settings.statement_timeout, max_age: settings.max_stale };
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

fn place(database: &AppointmentDatabase, config: &Config) -> Place {
    match database {
        AppointmentDatabase::Embedded => Place::Sqlite(embedded_appointments(config)),
        AppointmentDatabase::Sqlite(path) => Place::Sqlite(path.clone()),
        AppointmentDatabase::MariaDb(url) => Place::MariaDb(url.expose().to_owned()),
        AppointmentDatabase::Postgres(url) => Place::Postgres(url.expose().to_owned()),
    }
}

/// A made-up database beside the embedded one, new at every start, so that its times are of today.
async fn demonstration(config: &Config, clock: &Clock) -> anyhow::Result<Place> {
    let file = config.data_dir.join("demo").join("appointments.sqlite");
    let demo = Demo { rows: DEMO_ROWS, seed: DEMO_SEED, now: Clock::now(), clock: clock.clone() };
    demo.replace(&file).await.context("cannot make the demonstration's appointments")?;
    Ok(Place::Sqlite(file))
}
