//! Sends the components of versions to operators.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderName, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use tokio::sync::OwnedSemaphorePermit;

use super::{AdminApiError, Api};

/// The header with the SHA-256 of the content (RFC 9530).
pub(super) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");

/// A component that is being sent. Its permit is released when the client has it all or has disconnected.
struct SendingComponent {
    wasm: Arc<[u8]>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for SendingComponent {
    fn as_ref(&self) -> &[u8] {
        &self.wasm
    }
}

/// Sends the bytes of a version's component, or of the embedded one.
pub(super) async fn component(
    State(api): State<Arc<Api>>,
    Path((slot, version)): Path<(String, String)>,
) -> Result<Response, AdminApiError> {
    let slot = api.slot(&slot)?;
    let permit = Arc::clone(&api.exports).try_acquire_owned().map_err(|_| AdminApiError::sending())?;
    let exported = api.operators.runtime.spawn(slot.export(version)).await;
    let exported = exported.map_err(|_| AdminApiError::stopping())??;
    let digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(exported.component.as_bytes()));
    let body = Bytes::from_owner(SendingComponent { wasm: exported.wasm, _permit: permit });
    let fields = [(CONTENT_TYPE, "application/wasm".to_owned()), (CONTENT_DIGEST, digest)];
    Ok((fields, Body::from(body)).into_response())
}
