//! `GET status/metrics`: everything that is known, for a scraper.

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

use super::{StatusState, conditional::age_since, error::ApiError, typed};

/// Prometheus' text or OpenMetrics, by `Accept`.
pub async fn metrics(
    State(state): State<Arc<StatusState>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    state.guard.admit(&headers, client.address).await?;
    let wishes: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let wishes = (!wishes.is_empty()).then(|| wishes.join(","));
    let format = Format::negotiate(wishes.as_deref()).unwrap_or(Format::Text);
    let page = state.service.metrics().await?;
    let text = format.encode(&page.families).map_err(|error| {
        tracing::error!(%error, "the status metrics could not be written");
        ApiError::internal()
    })?;
    let mut response = typed(StatusCode::OK, format.content_type(), text);
    if let Some(collected_at) = page.collected_at {
        response.headers_mut().insert(AGE, age_since(collected_at));
    }
    Ok(response)
}
