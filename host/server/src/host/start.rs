//! Collects what the start page of `--demo` shows: each service, its address, and the versions that answer.

mod guide;
mod page;

use std::sync::Arc;

use axum::{Router, middleware::from_fn_with_state};
use bulkhead_config::{Config, slots::SlotId};
use bulkhead_http::layers::RouterLayer;
use bulkhead_rollout::{Deploy, DeploymentRegistry};
use bulkhead_service::{PageEntry, Service, ServiceContext};
use serde_json::{Value, json};

use crate::distribution::StartPage;

/// Returns the routes of what the page loads, if the configuration asks for the demonstration. `admin` is the base URL of
/// the operators' listener.
pub(super) fn router(page: &StartPage, context: &ServiceContext, admin: &str) -> Router {
    let config = &context.config;
    if !config.demo {
        return Router::new();
    }
    let (console, deployments) = (format!("{admin}/console"), Arc::clone(&context.deployments));
    let slots = config.slots.clone();
    let entries = entries(context);
    let described = |(name, entry): &(&'static str, PageEntry)| (*name, described(config, name, entry));
    let services: Vec<_> = entries.iter().map(described).collect();
    page::router(page, &entries, move || {
        // Before the others, so that a slot that becomes ready meanwhile is not missing.
        let starting = deployments.starting();
        let starting_of = |name: &str| {
            let is_own = |id: &&SlotId| slots.get(**id).is_some_and(|slot| slot.spec.service == name);
            starting.iter().filter(is_own).map(starting_slot).collect::<Vec<_>>()
        };
        let services = services
            .iter()
            .map(|(name, service)| with_slots(service.clone(), name, &deployments, starting_of(name)));
        json!({
            "starting": !deployments.is_complete(),
            "version": env!("CARGO_PKG_VERSION"),
            "console": console,
            "services": services.collect::<Value>(),
        })
    })
}

/// Returns the innermost layer of a listener that shows the page at `/`, if the configuration asks for the demonstration.
pub(super) fn innermost(page: &StartPage, context: &ServiceContext) -> Option<RouterLayer> {
    if !context.config.demo {
        return None;
    }
    let shown = Arc::new(page::with_forms(page.name, &entries(context)));
    let layer =
        move |router: Router| router.layer(from_fn_with_state(Arc::clone(&shown), page::answer_browser));
    Some(Arc::new(layer))
}

/// Returns the name of each service, and its entry on the page.
fn entries(context: &ServiceContext) -> Vec<(&'static str, PageEntry)> {
    let entry = |service: &&'static dyn Service| (service.spec().name, service.page_entry(&context.config));
    context.services.iter().map(entry).collect()
}

/// Describes a service as far as it is known before the start.
fn described(config: &Config, name: &str, entry: &PageEntry) -> Value {
    let PageEntry { base_path, docs, about, form, guide: _ } = entry;
    let settings: &bulkhead_config::services::ServiceSettings = config.services.get(name);
    let state = match (settings.enabled, settings.listen) {
        (false, _) => "off",
        (true, None) => "on",
        (true, Some(_)) => "elsewhere",
    };
    let scheme = if config.server.tls.is_some() { "https" } else { "http" };
    // The system chooses a port when the listener is bound; the log has that port.
    let listen = settings.listen.filter(|listen| listen.port() != 0);
    json!({
        "name": name,
        "state": state,
        "base": format!("{}{base_path}", settings.path_prefix),
        "address": listen.map(|listen| format!("{scheme}://{listen}")),
        "docs": docs,
        "about": about,
        "form": form.is_some(),
    })
}

/// Adds the service's slots with their versions, and those that are starting.
fn with_slots(
    mut service: Value,
    name: &str,
    deployments: &DeploymentRegistry,
    starting: Vec<Value>,
) -> Value {
    let is_own = |slot: &&Arc<dyn Deploy>| slot.settings().spec.service == name;
    let slots: Value = deployments.all().iter().filter(is_own).map(slot).chain(starting).collect();
    if let Some(members) = service.as_object_mut() {
        members.insert("slots".to_owned(), slots);
    }
    service
}

/// Describes a slot that is starting.
fn starting_slot(id: &SlotId) -> Value {
    let empty = "its component is not ready yet";
    json!({ "name": id.as_str(), "version": null, "source": null, "candidate": null, "empty": empty })
}

/// Describes a slot.
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
