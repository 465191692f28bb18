//! Finds out who calls, by `Authorization: Bearer` or the client's address, except for health, metrics and documentation.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bulkhead_http::{bearer, forwarded::Client};

use super::{EmbeddingState, error::EmbeddingApiError};

/// Middleware: puts the caller into the request's extensions, or rejects the request.
pub async fn admit(State(state): State<Arc<EmbeddingState>>, mut request: Request, next: Next) -> Response {
    let address = request.extensions().get::<Client>().map(|client| client.address);
    match state.callers.identify(bearer::token(request.headers()), address) {
        Some(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        None => EmbeddingApiError::unauthorized().into_response(),
    }
}
