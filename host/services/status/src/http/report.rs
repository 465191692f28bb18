//! `GET status/`: the payload in its envelope.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use bulkhead_http::forwarded::Client;

use super::{
    StatusState, compress::compress, conditional::Validity, envelope, error::StatusApiError,
    query::StatusQuery,
};

/// Answers the payload in its envelope, as the query selects it.
pub async fn report(
    State(state): State<Arc<StatusState>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, StatusApiError> {
    state.authenticator.admit(&headers, client.address).await?;
    let query = StatusQuery::read(&uri, &headers)?;
    let payload = state.service.payload(query.statistics).await?;
    let mut changed = None;
    if let Some((selection, _)) = &query.selection {
        changed = Some(selection.of(&payload.data).ok_or_else(StatusApiError::internal)?);
    }
    if query.compress {
        let data = changed.as_deref().unwrap_or(&payload.data);
        changed = Some(compress(data).ok_or_else(StatusApiError::internal)?);
    }
    let data = changed.as_deref().unwrap_or(&payload.data);
    let validity = match &changed {
        Some(data) => Validity::new(data.get(), &query.key(), &payload),
        None => Validity::of_whole(&payload, &query.key()),
    };
    if validity.matches(&headers) {
        return Ok(validity.not_modified());
    }
    let mut response = envelope::answer(state.envelope.success(Some(&client), data));
    validity.add_to(&mut response);
    Ok(response)
}
