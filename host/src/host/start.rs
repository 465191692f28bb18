//! What the start page of `--demo` shows: each service, where it is served, and the versions that answer.

mod page;

use std::sync::Arc;

use axum::{Router, middleware::from_fn};
use serde_json::{Value, json};

use crate::{
    config::Config,
    deploy::{Deploy, DeploymentRegistry},
    service::{PageEntry, Service, ServiceContext},
};

/// The routes of what the page loads, where the configuration asks for the demonstration; `admin` is the base of the
/// operators' listener.
pub(super) fn router(context: &ServiceContext, admin: &str) -> Router {
    let config = &context.config;
    if !config.demo {
        return Router::new();
    }
    let (console, deployments) = (format!("{admin}/console"), Arc::clone(&context.deployments));
    let described = |service: &&dyn Service| (service.spec().name, described(config, *service));
    let services: Vec<_> = context.services.iter().map(described).collect();
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
fn described(config: &Config, service: &dyn Service) -> Value {
    let (name, PageEntry { base_path, docs }) = (service.spec().name, service.page_entry(config));
    let settings = config.services.get(name);
    let state = match (settings.enabled, settings.listen) {
        (false, _) => "off",
        (true, None) => "on",
        (true, Some(_)) => "elsewhere",
    };
    let scheme = if config.server.tls.is_some() { "https" } else { "http" };
    // A port that the system chooses is known once the listener is bound, and the log names it.
    let listen = settings.listen.filter(|listen| listen.port() != 0);
    json!({
        "name": name,
        "state": state,
        "base": format!("{}{base_path}", settings.path_prefix),
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
