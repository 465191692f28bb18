//! `/health/live` and `/health/ready`.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header::CACHE_CONTROL},
    response::IntoResponse,
};
use serde_json::{Value, json};

use super::AdminSources;

/// Answers 200 as long as the process runs.
pub(super) async fn live() -> impl IntoResponse {
    answer(StatusCode::OK, json!({"status": "UP"}))
}

/// Answers 200 when the host is ready, else 503 with the failing checks.
pub(super) async fn ready(State(sources): State<AdminSources>) -> impl IntoResponse {
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
