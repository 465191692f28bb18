//! `/actuator/health`: the health of the host, its two probes, and its components where they are shown.

use std::sync::Arc;

use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{ActuatorState, media, problem::ActuatorProblem};
use crate::config::management::ShowDetails;

/// Least free space of the data folder, bytes; Spring's default.
const DISK_THRESHOLD: u64 = 10 * 1024 * 1024;
const LIVENESS: &str = "livenessState";
const READINESS: &str = "readinessState";

/// The health of the host or of a component, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthStatus {
    /// It does not work.
    Down,
    /// It must not be used now.
    OutOfService,
    /// It works.
    Up,
    /// Its health is not known.
    Unknown,
}

impl HealthStatus {
    /// Returns Spring's name.
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

/// Reports the health of the host. Called for every request, so it must not block: return the last known health.
pub trait HealthSource: Send + Sync {
    /// Returns whether the process works; [`HealthStatus::Down`] requests a restart.
    fn liveness(&self) -> HealthStatus;

    /// Returns whether the host accepts requests; [`HealthStatus::OutOfService`] if not.
    fn readiness(&self) -> HealthStatus;

    /// Returns the components, such as `db`. The probes, `ping` and `diskSpace` are added to them.
    fn components(&self) -> Vec<HealthComponent>;
}

/// A component of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthComponent {
    /// Its name in the answer.
    pub name: &'static str,
    /// Its health.
    pub status: HealthStatus,
    /// Details, without secrets.
    pub details: Map<String, Value>,
}

impl HealthComponent {
    fn plain(name: &'static str, status: HealthStatus) -> Self {
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
) -> Result<Response, ActuatorProblem> {
    let mut body = Map::new();
    body.insert("groups".into(), json!(["liveness", "readiness"]));
    let shown = shown(&state, &headers).await;
    summary(&headers, &uri, body, &components(&state, shown), shown)
}

/// `GET /actuator/health/{component}`, the probes among them.
pub(super) async fn component(
    State(state): State<Arc<ActuatorState>>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ActuatorProblem> {
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
    let found = components(&state, shown).into_iter().find(|component| shown && component.name == name);
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
) -> Result<Response, ActuatorProblem> {
    summary(&headers, &uri, Map::new(), &[liveness(&state)], shown(&state, &headers).await)
}

/// `GET /readyz`: the same as `/actuator/health/readiness`.
pub(super) async fn readyz(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ActuatorProblem> {
    summary(&headers, &uri, Map::new(), &[readiness(&state)], shown(&state, &headers).await)
}

fn liveness(state: &ActuatorState) -> HealthComponent {
    HealthComponent::plain(LIVENESS, state.health.liveness())
}

fn readiness(state: &ActuatorState) -> HealthComponent {
    HealthComponent::plain(READINESS, state.health.readiness())
}

/// Responds with the worst health of some components, and with the components where they are shown.
fn summary(
    headers: &HeaderMap,
    uri: &Uri,
    mut body: Map<String, Value>,
    components: &[HealthComponent],
    shown: bool,
) -> Result<Response, ActuatorProblem> {
    let status = components.iter().map(|component| component.status).min().unwrap_or(HealthStatus::Unknown);
    body.insert("status".into(), status.as_str().into());
    if shown {
        let named = components.iter().map(|component| (component.name.to_owned(), component.json()));
        body.insert("components".into(), Value::Object(named.collect()));
    }
    let response = media::json(headers, uri, &Value::Object(body))?;
    Ok((status.http(), response).into_response())
}

/// Returns every component, with its details where they are shown.
fn components(state: &ActuatorState, shown: bool) -> Vec<HealthComponent> {
    let mut components = state.health.components();
    components.push(liveness(state));
    components.push(readiness(state));
    components.push(HealthComponent::plain("ping", HealthStatus::Up));
    components.push(disk_space(state, shown));
    components
}

fn disk_space(state: &ActuatorState, shown: bool) -> HealthComponent {
    let Some(disk) = state.metrics.disk_space() else {
        return HealthComponent::plain("diskSpace", HealthStatus::Down);
    };
    let mut details = Map::new();
    if shown {
        details.insert("total".into(), disk.total.into());
        details.insert("free".into(), disk.free.into());
        details.insert("threshold".into(), DISK_THRESHOLD.into());
        details.insert("path".into(), disk.path.to_string_lossy().into());
        details.insert("exists".into(), true.into());
    }
    let status = if disk.free >= DISK_THRESHOLD { HealthStatus::Up } else { HealthStatus::Down };
    HealthComponent { name: "diskSpace", status, details }
}

/// Checks whether the sender of a request may see details.
async fn shown(state: &ActuatorState, headers: &HeaderMap) -> bool {
    match state.management.show_details {
        ShowDetails::Never => false,
        ShowDetails::WhenAuthorized => (state.authorized)(headers).await,
        ShowDetails::Always => true,
    }
}
