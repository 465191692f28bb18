//! Starts and stops the state that hosts on one PostgreSQL share.

use std::sync::Arc;

use anyhow::Context as _;
use bulkhead_config::Config;
use bulkhead_rollout::SharedState;
use bulkhead_service::{Close, Service, ServiceContext, ServiceList, SharedDatabase};
use bulkhead_telemetry::Metrics;
use futures_util::future::LocalBoxFuture;

/// Returns the state in the first database that a service offers, if the configuration has hosts share one.
pub(super) fn shared(
    services: ServiceList,
    config: &Config,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<Option<Arc<SharedState>>> {
    let sharing = &config.sharing;
    let Some((_, database)) = offered(services, config).filter(|_| sharing.enabled) else {
        return Ok(None);
    };
    let shared = SharedState::new(database.url.expose(), sharing.poll, Arc::clone(metrics));
    let remedy = || format!("cannot share the state of slots; check {}", database.setting);
    Ok(Some(Arc::new(shared.with_context(remedy)?)))
}

/// Returns the first database that a service offers, and the name of that service.
fn offered(services: ServiceList, config: &Config) -> Option<(&'static str, SharedDatabase)> {
    services.iter().find_map(|service| Some((service.spec().name, service.shared_database(config)?)))
}

/// Starts to poll the shared state, so that slots know it when they start, and has every scrape read their generations.
pub(super) async fn start(context: &ServiceContext) {
    let Some(shared) = context.deployments.shared() else { return };
    shared.start().await;
    let deployments = Arc::downgrade(&context.deployments);
    context.metrics.before_scrape(move |metrics| {
        let Some(deployments) = deployments.upgrade() else { return };
        for slot in deployments.all() {
            if let Some(view) = slot.shared() {
                metrics.sharing.generations(slot.slot().as_str(), view.desired, view.applied);
            }
        }
    });
}

/// Returns the shared state for closing, if it is in the database of `service`.
pub(super) fn open(context: &ServiceContext, service: &dyn Service) -> Option<Box<dyn Close>> {
    let shared = context.deployments.shared()?;
    let (owner, _) = offered(context.services, &context.config)?;
    if owner != service.spec().name {
        return None;
    }
    Some(Box::new(OpenState(Arc::clone(shared))))
}

/// The shared state while the host polls it.
#[derive(Debug)]
struct OpenState(Arc<SharedState>);

impl Close for OpenState {
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move { self.0.stop().await })
    }
}
