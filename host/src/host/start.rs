//! What the start page of `--demo` shows: each service, where it is served, and the versions that answer.

mod page;

use std::sync::Arc;

use axum::{Router, middleware::from_fn};
use serde_json::{Value, json};

use super::Parts;
use crate::{
    config::{Config, services::Service},
    deploy::{Deploy, DeploymentRegistry},
    services::status::config::Status,
};

/// The routes of what the page loads, where the configuration asks for the demonstration; `admin` is the base of the
/// operators' listener.
pub(super) fn router(parts: &Parts<'_>, admin: &str) -> Router {
    let config = parts.config;
    if !config.demo {
        return Router::new();
    }
    let (console, deployments) = (format!("{admin}/console"), Arc::clone(&parts.deployments));
    let described = |(name, service)| (name, described(config, name, service));
    let services: Vec<_> = config.services.each().map(described).collect();
    page::router(move || {
        let services = services.iter().map(|(name, service)| with_slots(service.clone(), name, &deployments));
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "console": console,
            "services": services.collect::<Value>(),
        })
    })
}

/// What is put around the routes of a listener that shows the page at `/`.
pub(super) fn innermost(shows_page: bool) -> Option<fn(Router) -> Router> {
    if shows_page { Some(greeted) } else { None }
}

fn greeted(router: Router) -> Router {
    router.layer(from_fn(page::greet))
}

/// What is known of a service before it starts.
fn described(config: &Config, name: &str, service: &Service) -> Value {
    let state = match (service.enabled, service.listen) {
        (false, _) => "off",
        (true, None) => "on",
        (true, Some(_)) => "elsewhere",
    };
    let scheme = if config.server.tls.is_some() { "https" } else { "http" };
    // A port that the system chooses is known once the listener is bound, and the log names it.
    let listen = service.listen.filter(|listen| listen.port() != 0);
    let base = match name {
        "status" => {
            let base_path = config.table::<Status>().map_or("", |status| status.base_path.as_str());
            format!("{}{base_path}", service.path_prefix)
        }
        _ => service.path_prefix.clone(),
    };
    let docs = match name {
        "embedding" => Some("docs"),
        "tickets" => Some("api/docs"),
        _ => None,
    };
    json!({
        "name": name,
        "state": state,
        "base": base,
        "address": listen.map(|listen| format!("{scheme}://{listen}")),
        "docs": docs,
    })
}

/// Adds what the service's slots answer with.
fn with_slots(mut service: Value, name: &str, deployments: &DeploymentRegistry) -> Value {
    let is_own = |slot: &&Arc<dyn Deploy>| slot.settings().spec.service == name;
    let slots: Value = deployments.all().iter().filter(is_own).map(slot).collect();
    if let Some(members) = service.as_object_mut() {
        members.insert("slots".to_owned(), slots);
    }
    service
}

fn slot(slot: &Arc<dyn Deploy>) -> Value {
    let view = slot.view();
    let active = view.active.as_ref().map(|version| &version.record);
    json!({
        "name": view.slot,
        "version": active.map(|record| &record.id),
        "source": active.map(|record| &record.source),
        "candidate": view.candidate.as_ref().map(|version| &version.record.id),
        "empty": view.empty,
    })
}
