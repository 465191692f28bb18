//! The configuration: what counts, and reading it anew.

use std::sync::Arc;

use axum::{Extension, Json, body::Body, extract::State, http::HeaderMap};
use bulkhead_http::body;
use bulkhead_rollout::{ReloadError, Reloaded, Reloader};
use bulkhead_telemetry::escape_guest;
use serde_json::{Value, json};

use super::{Api, ApiError, CHANGE, access::Actor, changes::REASON_BYTES, members::Members};

/// Which configuration counts, since when, and what waits for a restart.
pub(super) async fn show(State(api): State<Arc<Api>>) -> Json<Value> {
    Json(json!(*api.operators.reloader.view()))
}

/// 200 with what a reload would do, or why it would be refused; nothing changes.
pub(super) async fn trial(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    Members::read(&body::read_json(&headers, body, CHANGE).await?, &[])?;
    api.reloading(|reloader| async move { reloader.dry_run().await }).await
}

/// 200 with what counts now and what waits for a restart, or 422 with every problem, and all is as it was.
pub(super) async fn reload(
    State(api): State<Arc<Api>>,
    Extension(actor): Extension<Actor>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let reason = reason(&headers, body).await?;
    api.reloading(|reloader| async move { reloader.reload(&actor.0, &reason).await }).await
}

/// The same for the configuration before the last reload.
pub(super) async fn undo(
    State(api): State<Arc<Api>>,
    Extension(actor): Extension<Actor>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let reason = reason(&headers, body).await?;
    api.reloading(|reloader| async move { reloader.undo(&actor.0, &reason).await }).await
}

async fn reason(headers: &HeaderMap, body: Body) -> Result<String, ApiError> {
    let body = body::read_json(headers, body, CHANGE).await?;
    let reason = Members::read(&body, &["reason"])?.reason()?;
    Ok(escape_guest(&reason, REASON_BYTES))
}

impl Api {
    /// Does something with the configuration where slots live, to its end even if whoever asked has left.
    async fn reloading<F>(&self, act: impl FnOnce(Arc<Reloader>) -> F) -> Result<Json<Value>, ApiError>
    where
        F: Future<Output = Result<Reloaded, ReloadError>> + Send + 'static,
    {
        let done = self.operators.runtime.spawn(act(Arc::clone(&self.operators.reloader))).await;
        Ok(Json(json!(done.map_err(|_| ApiError::stopping())??)))
    }
}
