//! `/actuator/health`: the whole host, its two probes, and its components where they are shown.

use std::sync::Arc;

use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{ActuatorState, media, problem::Problem};
use crate::config::management::ShowDetails;

/// Free space below which the data folder counts as full, bytes; Spring's default.
const DISK_THRESHOLD: u64 = 10 * 1024 * 1024;
const LIVENESS: &str = "livenessState";
const READINESS: &str = "readinessState";

/// The state of the host or of a part, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Broken.
    Down,
    /// Not to be used now.
    OutOfService,
    /// Working.
    Up,
    /// Nothing is known.
    Unknown,
}

impl Status {
    /// Spring's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Down => "DOWN",
            Self::OutOfService => "OUT_OF_SERVICE",
            Self::Up => "UP",
            Self::Unknown => "UNKNOWN",
        }
    }

    const fn http(self) -> StatusCode {
        match self {
            Self::Down | Self::OutOfService => StatusCode::SERVICE_UNAVAILABLE,
            Self::Up | Self::Unknown => StatusCode::OK,
        }
    }
}

/// What the host knows of its own health. Asked at every request, so it must not wait: give what was
/// last found.
pub trait Health: Send + Sync {
    /// Whether the process works; [`Status::Down`] asks for a restart.
    fn liveness(&self) -> Status;

    /// Whether requests should come here; [`Status::OutOfService`] asks for none.
    fn readiness(&self) -> Status;

    /// Parts with a state of their own, such as `db`. The probes, `ping` and `diskSpace` are added to them.
    fn components(&self) -> Vec<Component>;
}

/// A part of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Its name in the answer.
    pub name: &'static str,
    /// Its state.
    pub status: Status,
    /// What else is known of it; free of secrets.
    pub details: Map<String, Value>,
}

impl Component {
    fn plain(name: &'static str, status: Status) -> Self {
        Self { name, status, details: Map::new() }
    }

    fn json(&self) -> Value {
        let mut body = Map::new();
        body.insert("status".into(), self.status.as_str().into());
        if !self.details.is_empty() {
            body.insert("details".into(), Value::Object(self.details.clone()));
        }
        Value::Object(body)
    }
}

/// `GET /actuator/health`.
pub(super) async fn all(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut body = Map::new();
    body.insert("groups".into(), json!(["liveness", "readiness"]));
    let shown = shown(&state, &headers).await;
    summary(&headers, &uri, body, &components(&state), shown)
}

/// `GET /actuator/health/{component}`, the probes among them.
pub(super) async fn component(
    State(state): State<Arc<ActuatorState>>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let Ok(Path(name)) = name else { return Ok(StatusCode::NOT_FOUND.into_response()) };
    let shown = shown(&state, &headers).await;
    let probe = match name.as_str() {
        "liveness" => Some(liveness(&state)),
        "readiness" => Some(readiness(&state)),
        _ => None,
    };
    if let Some(probe) = probe {
        return summary(&headers, &uri, Map::new(), &[probe], shown);
    }
    let found = components(&state).into_iter().find(|component| shown && component.name == name);
    match found {
        Some(component) => {
            Ok((component.status.http(), media::json(&headers, &uri, &component.json())?).into_response())
        }
        None => Ok(StatusCode::NOT_FOUND.into_response()),
    }
}

/// `GET /livez`: the same as `/actuator/health/liveness`.
pub(super) async fn livez(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    summary(&headers, &uri, Map::new(), &[liveness(&state)], shown(&state, &headers).await)
}

/// `GET /readyz`: the same as `/actuator/health/readiness`.
pub(super) async fn readyz(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    summary(&headers, &uri, Map::new(), &[readiness(&state)], shown(&state, &headers).await)
}

fn liveness(state: &ActuatorState) -> Component {
    Component::plain(LIVENESS, state.health.liveness())
}

fn readiness(state: &ActuatorState) -> Component {
    Component::plain(READINESS, state.health.readiness())
}

/// The gravest state of some components, with the components where they are shown.
fn summary(
    headers: &HeaderMap,
    uri: &Uri,
    mut body: Map<String, Value>,
    components: &[Component],
    shown: bool,
) -> Result<Response, Problem> {
    let status = components.iter().map(|component| component.status).min().unwrap_or(Status::Unknown);
    body.insert("status".into(), status.as_str().into());
    if shown {
        let named = components.iter().map(|component| (component.name.to_owned(), component.json()));
        body.insert("components".into(), Value::Object(named.collect()));
    }
    let response = media::json(headers, uri, &Value::Object(body))?;
    Ok((status.http(), response).into_response())
}

fn components(state: &ActuatorState) -> Vec<Component> {
    let mut components = state.health.components();
    components.push(liveness(state));
    components.push(readiness(state));
    components.push(Component::plain("ping", Status::Up));
    components.push(disk_space(state));
    components
}

fn disk_space(state: &ActuatorState) -> Component {
    let Some(disk) = state.metrics.disk_space() else {
        return Component::plain("diskSpace", Status::Down);
    };
    let mut details = Map::new();
    details.insert("total".into(), disk.total.into());
    details.insert("free".into(), disk.free.into());
    details.insert("threshold".into(), DISK_THRESHOLD.into());
    details.insert("path".into(), disk.path.to_string_lossy().into());
    details.insert("exists".into(), true.into());
    let status = if disk.free >= DISK_THRESHOLD { Status::Up } else { Status::Down };
    Component { name: "diskSpace", status, details }
}

async fn shown(state: &ActuatorState, headers: &HeaderMap) -> bool {
    match state.management.show_details {
        ShowDetails::Never => false,
        ShowDetails::WhenAuthorized => (state.authorized)(headers).await,
        ShowDetails::Always => true,
    }
}
