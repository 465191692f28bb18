//! Checks the paths of requests.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use percent_encoding::percent_decode_str;

use super::error::HostError;

/// Answers 404 to a path that is not UTF-8, for routes that read parts of the path (middleware).
pub async fn readable(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if path.contains('%') && percent_decode_str(path).decode_utf8().is_err() {
        return HostError::NOT_FOUND.into_response();
    }
    next.run(request).await
}
