//! The session of the calls for a ticket. Every response has it in a header too, so that logs can join the calls.

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};
use serde_json::Value;

/// The header of the session.
const X_SESSION_ID: HeaderName = HeaderName::from_static("x-session-id");

/// Sets the session header of a response, unless the session has other characters than those of printable ASCII.
pub fn set_header(headers: &mut HeaderMap, session: &str) {
    if let Some(value) = HeaderValue::from_str(session).ok().filter(|_| session.is_ascii()) {
        headers.insert(X_SESSION_ID, value);
    }
}

/// Returns a response with its session in the header.
pub fn with_session(session: &str, body: Value) -> Response {
    let mut response = Json(body).into_response();
    set_header(response.headers_mut(), session);
    response
}
