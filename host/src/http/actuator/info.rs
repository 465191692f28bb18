//! `/actuator` itself, which lists the endpoints, and `/actuator/info`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, Uri, header::HOST},
    response::Response,
};
use serde_json::{Map, Value, json};

use super::{ActuatorState, media, problem::Problem};
use crate::config::management::Endpoint;

/// The host itself, as `/actuator/info` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// One line about it.
    pub description: &'static str,
}

/// `GET /actuator/info`.
pub(super) async fn info(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let Application { name, version, description } = state.application;
    let application = json!({ "name": name, "version": version, "description": description });
    media::json(&headers, &uri, &json!({ "application": application }))
}

/// `GET /actuator`: a link to every exposed endpoint.
pub(super) async fn links(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let root = format!("{}{}", origin(&headers, &uri), state.base());
    let mut links = Map::new();
    let mut link = |name: &str, path: &str| {
        let href = format!("{root}{path}");
        links.insert(name.to_owned(), json!({ "href": href, "templated": path.contains('{') }));
    };
    link("self", "");
    for (id, endpoint) in Endpoint::IDS {
        if !state.exposes(endpoint) {
            continue;
        }
        link(id, &format!("/{id}"));
        match endpoint {
            Endpoint::Health => link("health-path", "/health/{*path}"),
            Endpoint::Metrics => link("metrics-requiredMetricName", "/metrics/{requiredMetricName}"),
            Endpoint::Info | Endpoint::Scrape | Endpoint::Prometheus => {}
        }
    }
    media::json(&headers, &uri, &json!({ "_links": Value::Object(links) }))
}

/// Scheme and authority as the request names them; empty, which makes links relative, when it does not.
fn origin(headers: &HeaderMap, uri: &Uri) -> String {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = uri.authority().map(|authority| authority.as_str()).or(named);
    let scheme = uri.scheme_str().unwrap_or("http");
    host.map_or_else(String::new, |host| format!("{scheme}://{host}"))
}
