//! What is counted of each call, and `GET /metrics`.

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
    error::{ApiError, SERVICE},
};
use crate::metrics::{EmbeddingCall, PAGE};

/// The canonical id of the model that answered; put into an answer's extensions.
#[derive(Clone, Debug)]
pub struct ModelLabel(String);

impl ModelLabel {
    /// The label of `model`.
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

/// Middleware: counts a call by its route, never by its path.
pub async fn count(State(state): State<Arc<EmbeddingState>>, request: Request, next: Next) -> Response {
    let since = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    let model = response.extensions_mut().remove::<ModelLabel>();
    state.calls.answered(&EmbeddingCall {
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

/// The embedding service's series and no others: this page is for everybody.
pub async fn metrics(
    State(state): State<Arc<EmbeddingState>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::negotiate(accept).unwrap_or(Format::Text);
    let text = format.encode(&state.metrics.gather_only(&PAGE));
    let text = text.map_err(|_| ApiError::unavailable("the metrics cannot be written"))?;
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, format.content_type())], text).into_response())
}
