//! The configuration: shows the active one, and reloads it.

use std::sync::Arc;

use axum::{Extension, Json, body::Body, extract::State, http::HeaderMap};
use bulkhead_http::body;
use bulkhead_rollout::{ReloadError, Reloaded, Reloader};
use bulkhead_telemetry::escape_guest;
use serde_json::{Value, json};

use super::{
    AdminApiError, Api, CHANGE_LIMITS, access::Actor, changes::REASON_BYTES, members::RequestMembers,
};

/// Returns the active configuration, since when it is active, and which changes wait for a restart.
pub(super) async fn show(State(api): State<Arc<Api>>) -> Json<Value> {
    Json(json!(*api.operators.reloader.view()))
}

/// Answers 200 with what a reload would do, or with why it would be refused; changes nothing.
pub(super) async fn trial(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, AdminApiError> {
    RequestMembers::read(&body::read_json(&headers, body, CHANGE_LIMITS).await?, &[])?;
    api.with_reloader(|reloader| async move { reloader.dry_run().await }).await
}

/// Reloads: answers 200 with what is active now and what waits for a restart, or 422 with every problem and no change.
pub(super) async fn reload(
    State(api): State<Arc<Api>>,
    Extension(actor): Extension<Actor>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, AdminApiError> {
    let reason = reason(&headers, body).await?;
    api.with_reloader(|reloader| async move { reloader.reload(&actor.0, &reason).await }).await
}

/// Restores the configuration before the last reload.
pub(super) async fn undo(
    State(api): State<Arc<Api>>,
    Extension(actor): Extension<Actor>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, AdminApiError> {
    let reason = reason(&headers, body).await?;
    api.with_reloader(|reloader| async move { reloader.undo(&actor.0, &reason).await }).await
}

async fn reason(headers: &HeaderMap, body: Body) -> Result<String, AdminApiError> {
    let body = body::read_json(headers, body, CHANGE_LIMITS).await?;
    let reason = RequestMembers::read(&body, &["reason"])?.reason()?;
    Ok(escape_guest(&reason, REASON_BYTES))
}

impl Api {
    /// Runs an action on the runtime of the slots, to its end even when the client disconnects.
    async fn with_reloader<F>(
        &self,
        act: impl FnOnce(Arc<Reloader>) -> F,
    ) -> Result<Json<Value>, AdminApiError>
    where
        F: Future<Output = Result<Reloaded, ReloadError>> + Send + 'static,
    {
        let done = self.operators.runtime.spawn(act(Arc::clone(&self.operators.reloader))).await;
        Ok(Json(json!(done.map_err(|_| AdminApiError::stopping())??)))
    }
}
