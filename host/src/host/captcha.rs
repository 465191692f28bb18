//! Builds the captcha service from its configuration.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::{Router, http::HeaderMap};

use super::{Parts, SECRETS, component};
use crate::{
    compile::ComponentDigest,
    config::{Config, secret::Secret, tables::MissingTable},
    deploy::{LiveKeys, Reloader},
    keys::MasterKey,
    services::{
        captcha::{
            CaptchaService,
            actuator::{self, ActuatorState, Application},
            config::{Captcha, Database, OnLedgerFailure, Site, management::Management},
            http::{self, CaptchaState, demo},
            metrics::{CaptchaMetrics, Table},
        },
        list::{CAPTCHA, name},
    },
    storage::{self, ANSWER_TIMEOUT, Backend, Ledger, Options, Timing},
    telemetry::metrics::{PoolStats, Times},
};

/// Shortest time that the ledger's database gets for an answer, however short a call's deadline: a disk's flush may take
/// as long.
const LEAST_ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// The demonstration site's key, and its secret.
const DEMO: &str = "demo";

pub(super) struct CaptchaParts {
    pub router: Router,
    /// Served beside the service, wherever the operational endpoints are.
    pub probes: Router,
    /// The operational endpoints.
    pub actuator: Router,
    /// Where they are served; `None`: beside the service.
    pub management: Option<SocketAddr>,
    pub ledger: Ledger,
}

/// Adds a site that anyone may use.
pub(super) fn add_demo_site(config: &mut Config) -> Result<(), MissingTable> {
    let site =
        Site { secrets: vec![Secret::new(DEMO)], allowed_origins: vec!["*".into()], ..Site::default() };
    config.edit_table::<Captcha>(|captcha| {
        captcha.sites.entry(DEMO.into()).or_insert(site);
    })
}

pub(super) async fn build(parts: &Parts<'_>, reloader: &Reloader) -> anyhow::Result<CaptchaParts> {
    let config = parts.config;
    let settings: &Captcha = config.table()?;
    let slot = parts.slot(CAPTCHA)?;
    let ledger = open_ledger(settings, config, slot.limits.deadline).await?;
    let masters = masters(settings, config)?;
    let metrics = parts.metrics.set::<CaptchaMetrics>()?;
    let service = CaptchaService::new(
        settings,
        slot,
        parts.context.clone(),
        parts.resources(slot),
        &masters,
        ledger.clone(),
        Arc::clone(&metrics),
    );
    let service = Arc::new(service);
    component::fill(parts, service.slot()).await;
    watch(parts, &ledger, metrics);
    if settings.sites.is_empty() {
        tracing::warn!(
            "no captcha site is configured, so every call is answered with 401; add one under captcha.sites"
        );
    }
    let served = Arc::clone(&service);
    let follow = move |config: &Config| {
        if let Ok(captcha) = config.table::<Captcha>() {
            served.replace_sites(&captcha.sites);
        }
    };
    reloader.subscribe(LiveKeys::always(&["captcha.sites"]), Box::new(follow)).await;
    let prefix = &config.services.get(name::CAPTCHA).path_prefix;
    let state = CaptchaState::new(Arc::clone(&service), settings, &config.server, prefix)?;
    let guard = state.guard.clone();
    let guarded = Arc::clone(&guard);
    let follow = move |config: &Config| {
        if let Ok(captcha) = config.table::<Captcha>() {
            guarded.replace_keys(&captcha.auth);
        }
    };
    // Whether keys let calls in at all is up to a restart.
    let followed = LiveKeys { keys: &["captcha.api_keys"], restart_keys: &["captcha.auth"] };
    reloader.subscribe(followed, Box::new(follow)).await;
    let mut router = http::router(state);
    if config.demo {
        router = router.merge(demo::router());
    }
    let authorized = move |headers: &HeaderMap| {
        let (guard, headers) = (guard.clone(), headers.clone());
        let authenticated = async move { guard.authenticates(&headers).await };
        Box::pin(authenticated) as std::pin::Pin<Box<dyn Future<Output = bool> + Send>>
    };
    let management: &Management = config.table()?;
    let actuator = ActuatorState {
        metrics: Arc::clone(&parts.metrics),
        management: management.clone(),
        health: parts.health.clone(),
        authorized: Arc::new(authorized),
        application: Application {
            name: "bulkhead",
            version: env!("CARGO_PKG_VERSION"),
            description: env!("CARGO_PKG_DESCRIPTION"),
        },
    };
    let probes = actuator::probes(actuator.clone());
    let actuator = actuator::router(actuator);
    Ok(CaptchaParts { router, probes, actuator, management: management.listen, ledger })
}

async fn open_ledger(settings: &Captcha, config: &Config, deadline: Duration) -> anyhow::Result<Ledger> {
    let backend = match &settings.database {
        Database::EmbeddedSqlite => Backend::Sqlite(config.data_dir.join("captcha.sqlite")),
        Database::Sqlite(path) => Backend::Sqlite(path.clone()),
        Database::Postgres(url) => Backend::Postgres(url.expose().to_owned()),
    };
    let options = Options {
        lenient: settings.on_ledger_failure == OnLedgerFailure::Allow,
        clock: settings.clock.clone(),
        answer_timeout: answer_timeout(deadline),
        ..Options::new(settings.source_address_window, settings.database_connections)
    };
    Ledger::open_when_reached(backend, options)
        .await
        .context("cannot open the captcha ledger; check captcha.database")
}

/// How long a call whose own deadline is `deadline` waits for the ledger's database: two fifths of that, so that it has
/// time left to go on without an answer, even where it has waited twice.
fn answer_timeout(deadline: Duration) -> Duration {
    deadline.mul_f64(0.4).clamp(LEAST_ANSWER_TIMEOUT, ANSWER_TIMEOUT)
}

/// The master keys, the current one first.
fn masters(settings: &Captcha, config: &Config) -> anyhow::Result<Vec<MasterKey>> {
    let current = match &settings.hmac_key {
        Some(key) => MasterKey::new(key.expose()),
        None => MasterKey::load_or_generate(&config.data_dir.join(SECRETS).join("captcha.key"))?,
    };
    let previous = settings.previous_hmac_keys.iter().map(|key| MasterKey::new(key.expose()));
    Ok([current].into_iter().chain(previous).collect())
}

/// Checks a component without serving or writing anything.
pub(super) async fn check(parts: &Parts<'_>, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    let settings: &Captcha = parts.config.table()?;
    let slot = parts.slot(CAPTCHA)?;
    let options = Options::new(settings.source_address_window, 1);
    let ledger = Ledger::open(Backend::Memory, options).await?;
    let service = CaptchaService::new(
        settings,
        slot,
        parts.context.clone(),
        parts.resources(slot),
        &[MasterKey::new("check")],
        ledger,
        parts.metrics.set()?,
    );
    Ok(component::try_out(service.slot(), wasm, "check").await?.digest)
}

/// Has health and metrics look at the ledger.
fn watch(parts: &Parts<'_>, ledger: &Ledger, captcha: Arc<CaptchaMetrics>) {
    parts.health.watch("captcha ledger", ledger.clone());
    let ledger = ledger.clone();
    parts.metrics.before_scrape(move |metrics| {
        let rows = ledger.rows();
        captcha.set_rows(Table::CaptchaRequest, Some(rows.captcha_request));
        captcha.set_rows(Table::InvalidatedPayload, Some(rows.invalidated_payload));
        captcha.set_claims_without_ledger(ledger.granted_without_database());
        metrics.set_pool_stats("captcha", &pool_stats(&ledger.pool_stats()));
    });
}

fn pool_stats(stats: &storage::PoolStats) -> PoolStats {
    let times = |timing: &Timing| Times { count: timing.count, sum: timing.sum, max: timing.max };
    PoolStats {
        size: stats.size,
        idle: stats.idle,
        active: stats.active,
        pending: u32::try_from(stats.pending).unwrap_or(u32::MAX),
        max: stats.max,
        min: stats.min,
        timeouts_total: stats.timeouts,
        acquire: times(&stats.acquire),
        usage: times(&stats.usage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::list::CAPTCHA_LIMITS;

    #[test]
    fn two_waits_for_the_ledger_fit_into_a_call() {
        let millis = |deadline| answer_timeout(Duration::from_millis(deadline)).as_millis();
        assert!(2 * answer_timeout(CAPTCHA_LIMITS.deadline) < CAPTCHA_LIMITS.deadline);
        assert_eq!([1, 1250, 2000, 5000, 600_000].map(millis), [500, 500, 800, 2000, 2000]);
    }
}
