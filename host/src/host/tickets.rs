//! Builds the ticket service from its configuration.

use std::sync::Arc;

use axum::Router;

use super::{Parts, component};
use crate::{
    compile::ComponentDigest,
    config::{Config, slots::SlotName},
    http::tickets::{self, TicketState},
    services::triage::{Rules, TriageService},
};

/// What `--demo` sorts tickets by.
const DEMO: &str = include_str!("demo/tickets.toml");

/// What tickets are decided by: the configured file, or the demonstration's.
pub(super) fn rules(config: &Config) -> anyhow::Result<Option<Rules>> {
    Ok(match &config.tickets.triage {
        _ if !config.services.tickets.enabled => None,
        Some(file) => Some(Rules::read(file)?),
        None if config.demo => Some(Rules::parse(DEMO)?),
        None => None,
    })
}

/// The service's routes, with the component in its slot.
pub(super) async fn build(parts: &Parts<'_>) -> anyhow::Result<Router> {
    let settings = &parts.config.tickets;
    let rules = parts.rules.as_ref();
    let service = service(parts, rules);
    component::fill(parts, service.slot()).await;
    if let Err(reason) = service.classifies() {
        tracing::warn!(reason, "tickets are not classified");
    }
    for category in rules.into_iter().flat_map(|rules| rules.configuration().without_examples()) {
        let category = category.name.as_str();
        tracing::warn!(category, "a category without examples or description is never chosen");
    }
    let state = TicketState::new(
        service,
        settings,
        &parts.config.server,
        &parts.config.services.tickets.path_prefix,
        Arc::clone(&parts.metrics),
    );
    let access = if state.keys.is_empty() { "open to everybody" } else { "guarded by a key" };
    tracing::info!(service = tickets::SERVICE, access, "service on");
    parts.metrics.tickets.ready();
    Ok(tickets::router(Arc::new(state)))
}

fn service(parts: &Parts<'_>, rules: Option<&Rules>) -> TriageService {
    let config = parts.config;
    TriageService::new(
        config.slots.get(SlotName::Triage),
        parts.yard.clone(),
        parts.backing(SlotName::Triage),
        rules,
        parts.inference.as_deref(),
        &config.tickets.head,
    )
}

/// Checks a component without serving or writing anything.
pub(super) async fn check(parts: &Parts<'_>, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    Ok(component::try_out(service(parts, None).slot(), wasm, "check").await?.digest)
}
