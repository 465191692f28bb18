//! Services whose slots have no component: every path says so.

use axum::{
    Json, Router,
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::any,
};
use serde_json::json;

/// Seconds after which asking again may help: an operator has to act first.
const RETRY_AFTER_SECONDS: &str = "60";

/// Ticket triage and answers.
pub fn tickets() -> Router {
    Router::new()
        .route("/api/v1/triage", any(|| async { unavailable("triage") }))
        .route("/api/v1/answer", any(|| async { unavailable("answer") }))
}

fn unavailable(slot: &str) -> Response {
    let message = format!("slot {slot} is empty: no component is configured; set slots.{slot}.component");
    let body = json!({ "error": "slot_empty", "message": message });
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, RETRY_AFTER_SECONDS)], Json(body)).into_response()
}
