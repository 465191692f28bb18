//! The session of a ticket's two calls, which every answer carries in a header too, so that a log can join them.

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use uuid::Uuid;

/// Names the session.
const X_SESSION_ID: HeaderName = HeaderName::from_static("x-session-id");

/// Puts a session into an answer's header.
pub fn name(headers: &mut HeaderMap, session: Uuid) {
    if let Ok(value) = HeaderValue::try_from(session.to_string()) {
        headers.insert(X_SESSION_ID, value);
    }
}

/// A body with its session in the header.
pub fn answered(session: Uuid, body: Value) -> Response {
    let mut response = Json(body).into_response();
    name(response.headers_mut(), session);
    response
}
