//! Receiving components.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderName, StatusCode, header::CONTENT_TYPE},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Api, ApiError, access::Actor, slots::known};
use crate::{deploy::Proof, http::body, telemetry::escape_guest};

/// Media types of components.
const MEDIA_TYPES: [&str; 2] = ["application/wasm", "application/octet-stream"];
/// Longest name of where a component comes from, bytes.
const SOURCE_BYTES: usize = 200;

/// Carries the text of the component's `.minisig` file, in base64.
const SIGNATURE: HeaderName = HeaderName::from_static("x-minisign-signature");

/// Takes a component up to its trial: 201 with the version, or 422 with everything that is wrong.
pub(super) async fn push(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
    Extension(actor): Extension<Actor>,
    parameters: Result<Query<HashMap<String, String>>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let slot = api.slot(&slot)?;
    let parameters = known(parameters, &["source"])?;
    let source = parameters.get("source").map_or("upload", String::as_str);
    let source = escape_guest(source, SOURCE_BYTES);
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !declared.is_some_and(|declared| MEDIA_TYPES.contains(&declared)) {
        let text = format!("the content type must be {}", MEDIA_TYPES.join(" or "));
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", text));
    }
    let proof = proof(&headers)?;
    let _place = api.uploads.try_acquire().map_err(|_| ApiError::busy())?;
    let wasm: Arc<[u8]> = body::read(body, api.component()).await?.as_ref().into();
    let pushed = api.operators.runtime.spawn(slot.push(wasm, source, proof, actor.0)).await;
    let record = pushed.map_err(|_| ApiError::stopping())??;
    Ok((StatusCode::CREATED, Json(json!(record))))
}

fn proof(headers: &HeaderMap) -> Result<Proof, ApiError> {
    let Some(value) = headers.get(SIGNATURE) else { return Ok(Proof::None) };
    let text = BASE64_STANDARD.decode(value).ok().and_then(|text| String::from_utf8(text).ok());
    let text =
        text.ok_or_else(|| ApiError::invalid(format!("{SIGNATURE} must be a .minisig file in base64")))?;
    Ok(Proof::Signature(text))
}
