//! `/actuator` itself, which lists the endpoints, and `/actuator/info`.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use bulkhead_http::forwarded::Client;
use serde_json::{Map, Value, json};

use super::{ActuatorState, media, problem::ActuatorProblem};
use crate::config::management::Endpoint;

/// The application in `/actuator/info`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its description in one line.
    pub description: &'static str,
}

/// `GET /actuator/info`.
pub(super) async fn info(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ActuatorProblem> {
    let Application { name, version, description } = state.application;
    let application = json!({ "name": name, "version": version, "description": description });
    media::json(&headers, &uri, &json!({ "application": application }))
}

/// `GET /actuator`: links to the exposed endpoints under the host name that the client used.
pub(super) async fn links(
    State(state): State<Arc<ActuatorState>>,
    client: Option<Extension<Client>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ActuatorProblem> {
    let root = format!("{}{}", client.map_or_else(String::new, |client| origin(&client)), state.base());
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

/// Returns scheme and authority that the client used; empty when they are not known, which makes links relative.
fn origin(client: &Client) -> String {
    client.host.as_ref().map_or_else(String::new, |host| format!("{}://{host}", client.scheme))
}
