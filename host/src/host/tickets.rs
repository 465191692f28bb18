//! Builds the ticket service from its configuration.

use std::sync::Arc;

use axum::Router;

use super::{Parts, component};
use crate::{
    compile::ComponentDigest,
    config::slots::SlotName,
    http::tickets::{self, TicketState},
    services::triage::{Rules, TriageService},
};

/// The service's routes, with the component in its slot.
pub(super) async fn build(parts: &Parts<'_>) -> anyhow::Result<Router> {
    let settings = &parts.config.tickets;
    let rules = settings.triage.as_deref().map(Rules::read).transpose()?;
    let service = service(parts, rules.as_ref());
    component::fill(parts, service.slot()).await;
    if let Err(reason) = service.classifies() {
        tracing::warn!(reason, "tickets are not classified");
    }
    for category in rules.iter().flat_map(|rules| rules.configuration().without_examples()) {
        let category = category.name.as_str();
        tracing::warn!(category, "a category without examples or description is never chosen");
    }
    let state = TicketState::new(service, settings, &parts.config.server);
    let access = if state.keys.is_empty() { "open to everybody" } else { "guarded by a key" };
    tracing::info!(service = tickets::SERVICE, access, "service on");
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
