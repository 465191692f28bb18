//! Changes of a slot: swap, canary, shadow, promote, roll back.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::HeaderMap,
};
use bulkhead_http::body;
use bulkhead_rollout::{Change, Expected};
use bulkhead_runtime::slots::Weight;
use bulkhead_telemetry::escape_guest;
use serde_json::{Value, json};

use super::{
    AdminApiError, Api, CHANGE_LIMITS,
    access::Actor,
    members::{RequestMembers, wrong_type},
};

/// Longest reason, bytes.
pub(super) const REASON_BYTES: usize = 500;

/// A request for a change.
pub(super) struct ChangeRequest {
    api: Arc<Api>,
    slot: String,
    actor: Actor,
    headers: HeaderMap,
    body: Body,
}

impl axum::extract::FromRequest<Arc<Api>> for ChangeRequest {
    type Rejection = AdminApiError;

    async fn from_request(request: axum::extract::Request, api: &Arc<Api>) -> Result<Self, AdminApiError> {
        use axum::extract::FromRequestParts as _;
        let (mut parts, body) = request.into_parts();
        let path = Path::<String>::from_request_parts(&mut parts, api).await;
        let Path(slot) = path.map_err(|_| AdminApiError::invalid("the path is malformed"))?;
        // The layer that checked the token added it; without it the request is refused.
        let actor = Extension::<Actor>::from_request_parts(&mut parts, api).await;
        let Extension(actor) = actor.map_err(|_| AdminApiError::unauthorized())?;
        Ok(Self { api: Arc::clone(api), slot, actor, headers: parts.headers, body })
    }
}

impl ChangeRequest {
    /// Reads the body, which has no members but `names`, the generation and the reason.
    async fn read(&mut self, names: &[&str]) -> Result<RequestMembers, AdminApiError> {
        let body = body::read_json(&self.headers, std::mem::take(&mut self.body), CHANGE_LIMITS).await?;
        RequestMembers::read(&body, &[names, &["generation", "reason"]].concat())
    }

    /// Applies the change on the runtime of the slots, to its end even when the client disconnects.
    async fn apply(self, change: Change, members: &RequestMembers) -> Result<Json<Value>, AdminApiError> {
        let (generation, reason) = (members.integer("generation")?, members.reason()?);
        let slot = self.api.slot(&self.slot)?;
        let reason = escape_guest(&reason, REASON_BYTES);
        let expected = Expected { generation, actor: self.actor.0, reason };
        let applied = self.api.operators.runtime.spawn(slot.change(change, expected)).await;
        Ok(Json(json!(applied.map_err(|_| AdminApiError::stopping())??)))
    }
}

pub(super) async fn swap(
    State(_): State<Arc<Api>>,
    mut request: ChangeRequest,
) -> Result<Json<Value>, AdminApiError> {
    let members = request.read(&["version"]).await?;
    request.apply(Change::Swap(members.text("version")?), &members).await
}

pub(super) async fn canary(
    State(_): State<Arc<Api>>,
    mut request: ChangeRequest,
) -> Result<Json<Value>, AdminApiError> {
    let members = request.read(&["version", "weight"]).await?;
    let weight = u8::try_from(members.integer("weight")?).ok().and_then(Weight::new);
    let change =
        Change::Canary(members.optional_text("version")?, weight.ok_or_else(|| wrong_type("weight"))?);
    request.apply(change, &members).await
}

pub(super) async fn shadow(
    State(_): State<Arc<Api>>,
    mut request: ChangeRequest,
) -> Result<Json<Value>, AdminApiError> {
    let members = request.read(&["version"]).await?;
    request.apply(Change::Shadow(members.optional_text("version")?), &members).await
}

pub(super) async fn promote(
    State(_): State<Arc<Api>>,
    mut request: ChangeRequest,
) -> Result<Json<Value>, AdminApiError> {
    let members = request.read(&[]).await?;
    request.apply(Change::Promote, &members).await
}

pub(super) async fn rollback(
    State(_): State<Arc<Api>>,
    mut request: ChangeRequest,
) -> Result<Json<Value>, AdminApiError> {
    let members = request.read(&[]).await?;
    request.apply(Change::Rollback, &members).await
}
