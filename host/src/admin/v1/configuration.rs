//! Reading the configuration anew.

use std::sync::Arc;

use axum::{Extension, Json, body::Body, extract::State, http::HeaderMap};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Api, ApiError, CHANGE, access::Actor, changes::REASON_BYTES};
use crate::{http::body, telemetry::escape_guest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reload {
    #[serde(default)]
    reason: String,
}

/// 200 with what counts now and what waits for a restart, or 422 with every problem, and all is as it was.
pub(super) async fn reload(
    State(api): State<Arc<Api>>,
    Extension(actor): Extension<Actor>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let body = body::read_json(&headers, body, CHANGE).await?;
    let Reload { reason } = serde_json::from_slice(&body)
        .map_err(|error| ApiError::invalid(format!("the body is not understood: {error}")))?;
    let (reloader, reason) = (Arc::clone(&api.operators.reloader), escape_guest(&reason, REASON_BYTES));
    let reloaded = api.operators.runtime.spawn(async move { reloader.reload(&actor.0, &reason).await }).await;
    Ok(Json(json!(reloaded.map_err(|_| ApiError::stopping())??)))
}
