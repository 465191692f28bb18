//! Authenticates callers by `Authorization: Bearer`, except for health and prompt versions.

use axum::{
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use bulkhead_http::bearer;

use super::{TicketState, error::TicketApiError};

/// Checks whether the caller has the key.
pub fn is_admitted(state: &TicketState, headers: &HeaderMap) -> bool {
    state.keys.is_empty() || bearer::token(headers).is_some_and(|token| state.keys.holds(token))
}

/// Returns the answer to a request without the key.
pub fn refusal(state: &TicketState, headers: &HeaderMap) -> Option<Response> {
    (!is_admitted(state, headers)).then(|| TicketApiError::UNAUTHORIZED.into_response())
}
