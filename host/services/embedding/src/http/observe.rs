//! Request metrics, and `GET /metrics`.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, IntoResponseParts, Response, ResponseParts},
};
use bulkhead_http::access_log::Served;
use bulkhead_models::ServedModel;
use bulkhead_telemetry::exposition::Format;

use super::{
    EmbeddingState,
    error::{EmbeddingApiError, SERVICE},
};
use crate::metrics::{EmbeddingCall, PAGE};

/// The canonical id of the model that answered, in the extensions of a response.
#[derive(Clone, Debug)]
pub struct ModelLabel(String);

impl ModelLabel {
    /// Returns the label of `model`.
    pub fn of(model: &ServedModel) -> Self {
        Self(model.id.clone())
    }
}

impl IntoResponseParts for ModelLabel {
    type Error = std::convert::Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Self::Error> {
        parts.extensions_mut().insert(self);
        Ok(parts)
    }
}

/// Middleware: counts a request by its route, never by its path.
pub async fn count(State(state): State<Arc<EmbeddingState>>, request: Request, next: Next) -> Response {
    let since = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    let model = response.extensions_mut().remove::<ModelLabel>();
    state.request_metrics.record_request(&EmbeddingCall {
        method: method.as_str(),
        route: route.as_ref().map_or("UNKNOWN", MatchedPath::as_str),
        status: response.status().as_u16(),
        model: model.as_ref().map_or("none", |model| &model.0),
        elapsed: since.elapsed(),
    });
    let extensions = response.extensions_mut();
    if extensions.get::<Served>().is_none() {
        extensions.insert(Served { service: SERVICE, error: None });
    }
    response
}

/// Answers only the series of the embedding service, because the page is public.
pub async fn metrics(
    State(state): State<Arc<EmbeddingState>>,
    headers: HeaderMap,
) -> Result<Response, EmbeddingApiError> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::negotiate(accept).unwrap_or(Format::Text);
    let text = format.encode(&state.metrics.gather_only(&PAGE));
    let text = text.map_err(|_| EmbeddingApiError::unavailable("the metrics cannot be written"))?;
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, format.content_type())], text).into_response())
}
