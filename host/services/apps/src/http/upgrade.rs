//! Requests that ask for another protocol on their connection, which no app gets.

use axum::{
    extract::Request,
    http::{
        HeaderMap, Method,
        header::{CONNECTION, UPGRADE},
    },
};

/// The protocol of requests that would rather use HTTP/2: they are answered as they are (RFC 9110, section 7.8).
const HTTP2: &str = "h2c";

/// Returns whether a request asks for a tunnel, or for another protocol than HTTP.
pub(super) fn is_asked(request: &Request) -> bool {
    request.method() == Method::CONNECT
        || members(request.headers(), &CONNECTION).any(|name| name.eq_ignore_ascii_case("upgrade"))
            && members(request.headers(), &UPGRADE).any(|protocol| !protocol.eq_ignore_ascii_case(HTTP2))
}

fn members<'h>(headers: &'h HeaderMap, name: &axum::http::HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::body::Body;

    use super::*;

    #[test]
    fn only_other_protocols_are_upgrades() {
        for (method, connection, upgrade, is_upgrade) in [
            ("GET", "", "", false),
            ("GET", "keep-alive, Upgrade", "websocket", true),
            ("GET", "Upgrade, HTTP2-Settings", "h2c", false),
            ("GET", "upgrade", "h2c, websocket", true),
            ("GET", "close", "websocket", false),
            ("CONNECT", "", "", true),
        ] {
            let mut request = Request::builder().method(method).uri("/");
            if !connection.is_empty() {
                request = request.header("connection", connection).header("upgrade", upgrade);
            }
            let request = request.body(Body::empty()).unwrap();
            assert_eq!(is_asked(&request), is_upgrade, "{method} {connection} {upgrade}");
        }
    }
}
