//! Authenticates callers by `Authorization: Bearer`, except for health and prompt versions.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::HeaderMap,
    middleware::Next,
    response::{IntoResponse, Response},
};
use bulkhead_http::bearer;

use super::{TicketState, error::TicketApiError};

/// Checks whether the caller has the key.
pub fn is_admitted(state: &TicketState, headers: &HeaderMap) -> bool {
    state.keys.is_empty() || bearer::token(headers).is_some_and(|token| state.keys.holds(token))
}

/// Middleware: rejects requests without the key.
pub async fn admit(State(state): State<Arc<TicketState>>, request: Request, next: Next) -> Response {
    match is_admitted(&state, request.headers()) {
        true => next.run(request).await,
        false => TicketApiError::UNAUTHORIZED.into_response(),
    }
}
