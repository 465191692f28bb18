//! Finds out who calls, by `Authorization: Bearer` or the client's address, except for health, metrics and documentation.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use bulkhead_http::{bearer, forwarded::Client};

use super::{EmbeddingState, error::EmbeddingApiError};

/// Puts the caller into the request's extensions, or returns the answer to a request that is rejected.
pub fn admit(state: &EmbeddingState, request: &mut Request) -> Option<Response> {
    let address = request.extensions().get::<Client>().map(|client| client.address);
    match state.callers.identify(bearer::token(request.headers()), address) {
        Some(caller) => {
            request.extensions_mut().insert(caller);
            None
        }
        None => Some(EmbeddingApiError::unauthorized().into_response()),
    }
}
