//! The session of the calls for a ticket. Every response has it in a header too, so that logs can join the calls.

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use uuid::Uuid;

/// The header of the session.
const X_SESSION_ID: HeaderName = HeaderName::from_static("x-session-id");

/// Sets the session header of a response.
pub fn set_header(headers: &mut HeaderMap, session: Uuid) {
    if let Ok(value) = HeaderValue::try_from(session.to_string()) {
        headers.insert(X_SESSION_ID, value);
    }
}

/// Returns a response with its session in the header.
pub fn with_session(session: Uuid, body: Value) -> Response {
    let mut response = Json(body).into_response();
    set_header(response.headers_mut(), session);
    response
}
