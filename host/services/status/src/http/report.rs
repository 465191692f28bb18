//! `GET status/`.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use bulkhead_http::forwarded::Client;

use super::{
    StatusState, compress::compress, conditional::Validity, envelope, error::ApiError, query::Wishes,
};

/// The payload in its envelope.
pub async fn report(
    State(state): State<Arc<StatusState>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    state.guard.admit(&headers, client.address).await?;
    let wishes = Wishes::read(&uri, &headers)?;
    let payload = state.service.payload(wishes.statistics).await?;
    let mut changed = None;
    if let Some((selection, _)) = &wishes.selection {
        changed = Some(selection.of(&payload.data).ok_or_else(ApiError::internal)?);
    }
    if wishes.compress {
        let data = changed.as_deref().unwrap_or(&payload.data);
        changed = Some(compress(data).ok_or_else(ApiError::internal)?);
    }
    let data = changed.as_deref().unwrap_or(&payload.data);
    let validity = Validity::new(data.get(), &wishes.text(), &payload);
    if validity.is_known(&headers) {
        return Ok(validity.not_modified());
    }
    let mut response = envelope::answer(state.server.success(Some(&client), data));
    validity.add_to(&mut response);
    Ok(response)
}
