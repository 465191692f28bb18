//! What a path may be.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use percent_encoding::percent_decode_str;

use super::error::HostError;

/// Middleware for routes that read parts of the path: one that is not UTF-8 names nothing.
pub async fn readable(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if path.contains('%') && percent_decode_str(path).decode_utf8().is_err() {
        return HostError::NOT_FOUND.into_response();
    }
    next.run(request).await
}
