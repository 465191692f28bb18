//! `GET /health` and `GET /ready`, which are public.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::EmbeddingState;

/// Answers 200 while the service runs.
pub async fn health(State(state): State<Arc<EmbeddingState>>) -> Json<Value> {
    Json(report(&state))
}

/// Answers 503 while the default model is missing.
pub async fn ready(State(state): State<Arc<EmbeddingState>>) -> Response {
    let status = match state.service.inference.default_model() {
        Some(_) => StatusCode::OK,
        None => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(report(&state))).into_response()
}

/// Reports the state of every model.
fn report(state: &EmbeddingState) -> Value {
    let service = &state.service.inference;
    let is_ready = service.default_model().is_some();
    let loaded = service
        .models()
        .map(|model| json!({ "model_id": model.id, "status": "ready", "message": "model loaded" }));
    let missing = service.missing().iter().map(|model| {
        json!({ "model_id": model.id, "status": "failed", "message": format!("model failed to load; {}", model.remedy) })
    });
    let models: Vec<Value> = loaded.chain(missing).collect();
    let message = match (service.models().count(), is_ready) {
        (0, _) => "no model is loaded".to_owned(),
        (count, true) => format!("{count} model(s) ready"),
        (count, false) => format!("{count} model(s) ready, the default model is not"),
    };
    json!({
        "status": if is_ready { "healthy" } else { "unhealthy" },
        "ready": is_ready,
        "message": message,
        "models": models,
    })
}
