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

/// Appointment status.
pub fn status() -> Router {
    Router::new().route("/terminvereinbarung/api/2/status/", any(|| async { unavailable("status") }))
}

fn unavailable(slot: &str) -> Response {
    let message = format!("slot {slot} is empty: no component is configured; set slots.{slot}.component");
    let body = json!({ "error": "slot_empty", "message": message });
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, RETRY_AFTER_SECONDS)], Json(body)).into_response()
}
