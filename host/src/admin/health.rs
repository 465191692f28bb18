//! `/health/live` and `/health/ready`.

use std::collections::BTreeMap;

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
    /// Those that do not hold and keep no request away.
    pub degraded: Vec<Failing>,
    /// Slots whose state this host shares with others.
    pub slots: BTreeMap<&'static str, Generations>,
}

/// The generation that all hosts should have, if it is known, and the one that answers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Generations {
    /// What all should have.
    pub desired: Option<u64>,
    /// What answers here.
    pub applied: u64,
}

impl ReadyReport {
    /// Adds a check that does not hold.
    pub fn fail(&mut self, check: impl Into<String>, reason: impl Into<String>) {
        self.failing.push(Failing { check: check.into(), reason: reason.into() });
    }

    /// Adds a check that does not hold and keeps no request away.
    pub fn degrade(&mut self, check: impl Into<String>, reason: impl Into<String>) {
        self.degraded.push(Failing { check: check.into(), reason: reason.into() });
    }

    /// Whether such a check does not hold.
    pub fn is_degraded(&self, check: &str) -> bool {
        self.degraded.iter().any(|degraded| degraded.check == check)
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
    let (status, mut body) = match report.is_ready() {
        true => (StatusCode::OK, json!({ "status": "UP" })),
        false => (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "DOWN", "failing": report.failing })),
    };
    if let Some(members) = body.as_object_mut() {
        if !report.degraded.is_empty() {
            members.insert("degraded".to_owned(), json!(report.degraded));
        }
        if !report.slots.is_empty() {
            members.insert("slots".to_owned(), json!(report.slots));
        }
    }
    answer(status, body)
}

fn answer(status: StatusCode, body: Value) -> impl IntoResponse {
    (status, [(CACHE_CONTROL, "no-store")], Json(body))
}
