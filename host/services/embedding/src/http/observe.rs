//! Request metrics, and `GET /metrics`.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, IntoResponseParts, Response, ResponseParts},
};
use bulkhead_http::access_log::Served;
use bulkhead_inference::engine::Embedded;
use bulkhead_models::ServedModel;
use bulkhead_telemetry::exposition::Format;

use super::{
    EmbeddingState,
    error::{EmbeddingApiError, SERVICE},
};
use crate::metrics::{EmbeddingCall, EmbeddingTimes, PAGE};

/// The last segments of routes where a model works on texts.
const MODEL_ROUTES: [&str; 7] =
    ["embed", "embeddings", "embed_all", "embed_sparse", "rerank", "predict", "similarity"];

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

/// What embedding took, in the extensions of a response.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingWork(EmbeddingTimes);

impl EmbeddingWork {
    /// Returns what making these vectors took.
    pub fn of(embedded: &Embedded) -> Self {
        Self(EmbeddingTimes {
            texts: embedded.vectors.len() / embedded.dims.max(1),
            queued: embedded.queued,
            tokenizing: embedded.tokenizing,
            inference: embedded.inference,
        })
    }
}

impl IntoResponseParts for EmbeddingWork {
    type Error = std::convert::Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Self::Error> {
        parts.extensions_mut().insert(self);
        Ok(parts)
    }
}

/// What is counted of a request.
pub struct EmbeddingAsked {
    since: Instant,
    method: Method,
    route: Option<MatchedPath>,
}

impl EmbeddingAsked {
    /// Notes a request.
    pub fn of(request: &Request) -> Self {
        let route = request.extensions().get().cloned();
        Self { since: Instant::now(), method: request.method().clone(), route }
    }
}

/// Counts a request by its route, never by its path.
pub fn count(state: &EmbeddingState, asked: &EmbeddingAsked, mut response: Response) -> Response {
    let EmbeddingAsked { since, method, route } = asked;
    let model = response.extensions_mut().remove::<ModelLabel>();
    let work = response.extensions_mut().remove::<EmbeddingWork>();
    let call = EmbeddingCall {
        method: method.as_str(),
        route: route.as_ref().map_or("UNKNOWN", MatchedPath::as_str),
        status: response.status().as_u16(),
        model: model.as_ref().map_or("none", |model| &model.0),
        elapsed: since.elapsed(),
    };
    state.request_metrics.record_request(&call);
    if method == Method::POST && embeds(call.route.strip_prefix(&state.path_prefix).unwrap_or(call.route)) {
        let work = work.map(|work| work.0);
        state.tei_metrics.record(work.as_ref(), call.status, call.elapsed);
    }
    let extensions = response.extensions_mut();
    if extensions.get::<Served>().is_none() {
        extensions.insert(Served { service: SERVICE, error: None });
    }
    response
}

/// Checks whether a model works on texts at a route.
fn embeds(route: &str) -> bool {
    let last = route.rsplit('/').next().unwrap_or_default();
    matches!(route, "" | "/" | "/tei/{model_id}") || MODEL_ROUTES.contains(&last)
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
