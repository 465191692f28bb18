//! Authenticates callers by `Authorization: Bearer`, except for health, metrics and documentation.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bulkhead_http::bearer;

use super::{EmbeddingState, error::EmbeddingApiError};

/// Middleware: rejects requests without one of the keys.
pub async fn admit(State(state): State<Arc<EmbeddingState>>, request: Request, next: Next) -> Response {
    if state.keys.is_empty() || bearer::token(request.headers()).is_some_and(|token| state.keys.holds(token))
    {
        return next.run(request).await;
    }
    EmbeddingApiError::unauthorized().into_response()
}
