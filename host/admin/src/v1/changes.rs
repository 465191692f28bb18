//! Changing what answers.

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
    Api, ApiError, CHANGE,
    access::Actor,
    members::{Members, wrong},
};

/// Longest reason, bytes.
pub(super) const REASON_BYTES: usize = 500;

/// A request for a change.
pub(super) struct Asked {
    api: Arc<Api>,
    slot: String,
    actor: Actor,
    headers: HeaderMap,
    body: Body,
}

impl axum::extract::FromRequest<Arc<Api>> for Asked {
    type Rejection = ApiError;

    async fn from_request(request: axum::extract::Request, api: &Arc<Api>) -> Result<Self, ApiError> {
        use axum::extract::FromRequestParts as _;
        let (mut parts, body) = request.into_parts();
        let path = Path::<String>::from_request_parts(&mut parts, api).await;
        let Path(slot) = path.map_err(|_| ApiError::invalid("the path is malformed"))?;
        // Put there by the layer that asked for the token; without it nothing is done.
        let actor = Extension::<Actor>::from_request_parts(&mut parts, api).await;
        let Extension(actor) = actor.map_err(|_| ApiError::unauthorized())?;
        Ok(Self { api: Arc::clone(api), slot, actor, headers: parts.headers, body })
    }
}

impl Asked {
    /// The body, which has no members but `names`, the generation and the reason.
    async fn read(&mut self, names: &[&str]) -> Result<Members, ApiError> {
        let body = body::read_json(&self.headers, std::mem::take(&mut self.body), CHANGE).await?;
        Members::read(&body, &[names, &["generation", "reason"]].concat())
    }

    /// Makes the change where slots live, to its end even if whoever asked has left.
    async fn make(self, change: Change, members: &Members) -> Result<Json<Value>, ApiError> {
        let (generation, reason) = (members.whole("generation")?, members.reason()?);
        let slot = self.api.slot(&self.slot)?;
        let reason = escape_guest(&reason, REASON_BYTES);
        let expected = Expected { generation, actor: self.actor.0, reason };
        let made = self.api.operators.runtime.spawn(slot.change(change, expected)).await;
        Ok(Json(json!(made.map_err(|_| ApiError::stopping())??)))
    }
}

pub(super) async fn swap(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let members = asked.read(&["version"]).await?;
    asked.make(Change::Swap(members.text("version")?), &members).await
}

pub(super) async fn canary(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let members = asked.read(&["version", "weight"]).await?;
    let weight = u8::try_from(members.whole("weight")?).ok().and_then(Weight::new);
    let change = Change::Canary(members.maybe_text("version")?, weight.ok_or_else(|| wrong("weight"))?);
    asked.make(change, &members).await
}

pub(super) async fn shadow(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let members = asked.read(&["version"]).await?;
    asked.make(Change::Shadow(members.maybe_text("version")?), &members).await
}

pub(super) async fn promote(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let members = asked.read(&[]).await?;
    asked.make(Change::Promote, &members).await
}

pub(super) async fn rollback(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let members = asked.read(&[]).await?;
    asked.make(Change::Rollback, &members).await
}
