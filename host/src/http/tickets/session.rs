//! The session of a ticket's two calls, which an answer carries in a header too, so that a log can join them.

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};
use serde_json::Value;

/// Names the session.
const X_SESSION_ID: HeaderName = HeaderName::from_static("x-session-id");

/// A body with its session in the header.
pub fn answered(session: &str, body: Value) -> Response {
    let header = HeaderValue::try_from(session).ok().map(|value| [(X_SESSION_ID, value)]);
    (header.map(HeaderMap::from_iter).unwrap_or_default(), Json(body)).into_response()
}
