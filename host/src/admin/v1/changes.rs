//! Changing what answers.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::HeaderMap,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Api, ApiError, CHANGE, access::Actor};
use crate::{
    deploy::{Change, Expected},
    http::body,
    slots::Weight,
    telemetry::escape_guest,
};

/// Longest reason, bytes.
pub(super) const REASON_BYTES: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Swap {
    version: String,
    generation: u64,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Canary {
    version: Option<String>,
    weight: u8,
    generation: u64,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shadow {
    version: Option<String>,
    generation: u64,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    generation: u64,
    #[serde(default)]
    reason: String,
}

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
    async fn read<T: DeserializeOwned>(&mut self) -> Result<T, ApiError> {
        let body = body::read_json(&self.headers, std::mem::take(&mut self.body), CHANGE).await?;
        body::object(&body).map_err(|error| ApiError::invalid(format!("the body is not understood: {error}")))
    }

    /// Makes the change where slots live, to its end even if whoever asked has left.
    async fn make(self, change: Change, generation: u64, reason: &str) -> Result<Json<Value>, ApiError> {
        let slot = self.api.slot(&self.slot)?;
        let reason = escape_guest(reason, REASON_BYTES);
        let expected = Expected { generation, actor: self.actor.0, reason };
        let made = self.api.operators.runtime.spawn(slot.change(change, expected)).await;
        Ok(Json(json!(made.map_err(|_| ApiError::stopping())??)))
    }
}

pub(super) async fn swap(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let Swap { version, generation, reason } = asked.read().await?;
    asked.make(Change::Swap(version), generation, &reason).await
}

pub(super) async fn canary(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let Canary { version, weight, generation, reason } = asked.read().await?;
    let weight =
        Weight::new(weight).ok_or_else(|| ApiError::invalid("weight must be from 0 to 100 percent"))?;
    asked.make(Change::Canary(version, weight), generation, &reason).await
}

pub(super) async fn shadow(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let Shadow { version, generation, reason } = asked.read().await?;
    asked.make(Change::Shadow(version), generation, &reason).await
}

pub(super) async fn promote(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let Plain { generation, reason } = asked.read().await?;
    asked.make(Change::Promote, generation, &reason).await
}

pub(super) async fn rollback(State(_): State<Arc<Api>>, mut asked: Asked) -> Result<Json<Value>, ApiError> {
    let Plain { generation, reason } = asked.read().await?;
    asked.make(Change::Rollback, generation, &reason).await
}
