//! `/health/live` and `/health/ready`.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header::CACHE_CONTROL},
    response::IntoResponse,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::Sources;

/// A check that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failing {
    /// What was checked, such as `storage`.
    pub check: String,
    /// What is wrong, for people; holds no secrets.
    pub reason: String,
}

/// Whether requests should be sent here: when nothing fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyReport {
    /// The checks that do not hold.
    pub failing: Vec<Failing>,
}

impl ReadyReport {
    /// Adds a check that does not hold.
    pub fn fail(&mut self, check: impl Into<String>, reason: impl Into<String>) {
        self.failing.push(Failing { check: check.into(), reason: reason.into() });
    }

    /// Whether nothing fails.
    pub fn is_ready(&self) -> bool {
        self.failing.is_empty()
    }
}

/// 200 as long as the process runs.
pub(super) async fn live() -> impl IntoResponse {
    answer(StatusCode::OK, json!({"status": "UP"}))
}

/// 200 or 503, and then what fails.
pub(super) async fn ready(State(sources): State<Sources>) -> impl IntoResponse {
    let report = (sources.ready)();
    if report.is_ready() {
        answer(StatusCode::OK, json!({"status": "UP"}))
    } else {
        let body = json!({"status": "DOWN", "failing": report.failing});
        answer(StatusCode::SERVICE_UNAVAILABLE, body)
    }
}

fn answer(status: StatusCode, body: Value) -> impl IntoResponse {
    (status, [(CACHE_CONTROL, "no-store")], Json(body))
}
