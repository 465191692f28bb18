//! Receiving components, from whoever sends one or from a registry.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderName, StatusCode, header::CONTENT_TYPE},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Api, ApiError, CHANGE, access::Actor, slots::known};
use crate::{
    config::registries::Reference, deploy::Proof, http::body, registry::Pulled, telemetry::escape_guest,
};

/// Media types of components.
const MEDIA_TYPES: [&str; 2] = ["application/wasm", "application/octet-stream"];
/// Longest name of where a component comes from, bytes.
const SOURCE_BYTES: usize = 200;

/// Carries the text of the component's `.minisig` file, in base64.
const SIGNATURE: HeaderName = HeaderName::from_static("x-minisign-signature");

/// A component to pull.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    reference: String,
}

/// A component, where it came from, and what speaks for it.
type Received = (Arc<[u8]>, String, Proof);

/// Takes a component, or pulls the one that is named, up to its trial: 201 with the version, or 422 with everything
/// that is wrong.
pub(super) async fn push(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
    Extension(actor): Extension<Actor>,
    parameters: Result<Query<HashMap<String, String>>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let slot = api.slot(&slot)?;
    let source = known(parameters, &["source"])?.remove("source");
    let is_named = body::is_json(&headers);
    // Each holds a component in memory until it has passed its trial.
    let places = if is_named { &api.pulls } else { &api.uploads };
    let _place = places.try_acquire().map_err(|_| ApiError::busy())?;
    let (wasm, source, proof) = match is_named {
        true => pulled(&api, source, &headers, body).await?,
        false => uploaded(&api, source, &headers, body).await?,
    };
    let pushed = api.operators.runtime.spawn(slot.push(wasm, source, proof, actor.0)).await;
    let record = pushed.map_err(|_| ApiError::stopping())??;
    Ok((StatusCode::CREATED, Json(json!(record))))
}

async fn uploaded(
    api: &Api,
    source: Option<String>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Received, ApiError> {
    let source = escape_guest(source.as_deref().unwrap_or("upload"), SOURCE_BYTES);
    // Only what was pulled by a digest has been seen to have it.
    if Reference::is_one(&source) {
        let text = "source says where a file was; to have a component pulled, send {\"reference\": ...} as application/json";
        return Err(ApiError::invalid(text));
    }
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !declared.is_some_and(|declared| MEDIA_TYPES.contains(&declared)) {
        let text = format!("the content type must be {}", MEDIA_TYPES.join(" or "));
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", text));
    }
    let proof = proof(headers)?;
    let wasm = body::read(body, api.component()).await.map_err(ApiError::component)?;
    Ok((wasm.as_ref().into(), source, proof))
}

/// A signature in the request comes before the manifest's.
async fn pulled(
    api: &Api,
    source: Option<String>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Received, ApiError> {
    let proof = proof(headers)?;
    if source.is_some() {
        return Err(ApiError::invalid("source goes with a component and not with a reference"));
    }
    let body = body::read_json(headers, body, CHANGE).await?;
    let Wanted { reference } = body::object(&body)
        .map_err(|error| ApiError::invalid(format!("the body is not understood: {error}")))?;
    let reference =
        Reference::parse(&reference).map_err(|text| ApiError::invalid(format!("the reference {text}")))?;
    // Dropped with the request: nobody pulls what nobody waits for.
    let (mut pull, registries) = (JoinSet::new(), Arc::clone(&api.operators.registries));
    pull.spawn_on(async move { registries.pull(&reference).await }, &api.operators.runtime);
    let pulled = pull.join_next().await.and_then(Result::ok).ok_or_else(ApiError::stopping)?;
    let Pulled { wasm, reference, signature } = pulled?;
    let proof = match (proof, signature) {
        (Proof::None, Some(signature)) => Proof::Signature(signature),
        (given, _) => given,
    };
    Ok((wasm, reference.to_string(), proof))
}

fn proof(headers: &HeaderMap) -> Result<Proof, ApiError> {
    let Some(value) = headers.get(SIGNATURE) else { return Ok(Proof::None) };
    let text = BASE64_STANDARD.decode(value).ok().and_then(|text| String::from_utf8(text).ok());
    let text =
        text.ok_or_else(|| ApiError::invalid(format!("{SIGNATURE} must be a .minisig file in base64")))?;
    Ok(Proof::Signature(text))
}
