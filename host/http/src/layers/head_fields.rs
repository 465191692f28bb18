//! Limits the number of fields of a request head, which hyper limits in HTTP/1 only.

use axum::{
    extract::Request,
    http::{HeaderMap, Version, header::COOKIE},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::error::HostError;

/// Most fields of a head: hyper's default for HTTP/1.
const MOST: usize = 100;

/// Answers 431 to an HTTP/2 request with more fields than an HTTP/1 request may have (middleware).
pub async fn limit(request: Request, next: Next) -> Response {
    if are_too_many(request.version(), request.headers()) {
        return HostError::HEAD_TOO_LARGE.into_response();
    }
    next.run(request).await
}

/// Returns whether an HTTP/2 request has more fields than an HTTP/1 request may have.
pub(super) fn are_too_many(version: Version, headers: &HeaderMap) -> bool {
    version == Version::HTTP_2 && count(headers) > MOST
}

/// Returns how many fields the same head has in HTTP/1. A browser splits its cookies into a field each in HTTP/2 (RFC
/// 9113, section 8.2.3), which are one field there.
fn count(headers: &HeaderMap) -> usize {
    let cookies = headers.get_all(COOKIE).iter().count();
    headers.len() - cookies.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use std::iter::repeat_n;

    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn repeated_fields_count_and_cookies_are_one() {
        let many = HeaderName::from_static("x-many");
        for (fields, cookies, counted) in [(0, 0, 0), (3, 0, 3), (3, 1, 4), (3, 200, 4)] {
            let names = repeat_n(many.clone(), fields).chain(repeat_n(COOKIE, cookies));
            let headers: HeaderMap = names.map(|name| (name, HeaderValue::from_static("x"))).collect();
            assert_eq!(count(&headers), counted, "{fields} {cookies}");
        }
    }
}
