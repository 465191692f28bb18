//! `GET status/metrics`: all figures as metrics for a scraper.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT, AGE},
    },
    response::Response,
};
use bulkhead_http::forwarded::Client;
use bulkhead_telemetry::exposition::Format;

use super::{StatusState, conditional::age_since, error::StatusApiError, typed};

/// Answers the Prometheus text format or OpenMetrics, by `Accept`.
pub async fn metrics(
    State(state): State<Arc<StatusState>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
) -> Result<Response, StatusApiError> {
    state.authenticator.admit(&headers, client.address).await?;
    let accepted: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accepted = (!accepted.is_empty()).then(|| accepted.join(","));
    let format = Format::negotiate(accepted.as_deref()).unwrap_or(Format::Text);
    let page = state.service.metrics().await?;
    let text = format.encode(&page.families).map_err(|error| {
        tracing::error!(%error, "the status metrics could not be written");
        StatusApiError::internal()
    })?;
    let mut response = typed(StatusCode::OK, format.content_type(), text);
    if let Some(collected_at) = page.collected_at {
        response.headers_mut().insert(AGE, age_since(collected_at));
    }
    Ok(response)
}
