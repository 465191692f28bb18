//! gzip for clients that accept it.

use tower_http::{
    CompressionLevel,
    compression::{
        CompressionLayer, Predicate,
        predicate::{NotForContentType, SizeAbove},
    },
};

/// Below this many bytes the header and the work outweigh what is saved.
const LEAST_BYTES: u64 = 1024;

/// The layer; leaves alone what is small, streamed as events, compressed already, or answered with a
/// Content-Encoding.
pub fn gzip() -> CompressionLayer<impl Predicate> {
    let text_like = NotForContentType::IMAGES
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/gzip"))
        .and(NotForContentType::const_new("application/zip"))
        .and(NotForContentType::const_new("application/wasm"))
        .and(NotForContentType::const_new("font/"));
    CompressionLayer::new()
        // JSON shrinks nearly as much as at the best level, in a fraction of the time.
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(LEAST_BYTES).and(text_like))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use axum::{
        Router,
        body::Body,
        http::{
            Request,
            header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE},
        },
        routing::get,
    };
    use tower::ServiceExt;

    use super::*;

    async fn encoding(bytes: usize, kind: &'static str, accepted: &str) -> Option<String> {
        let answer = async move || ([(CONTENT_TYPE, kind)], "x".repeat(bytes));
        let router = Router::new().route("/", get(answer)).layer(gzip());
        let request = Request::get("/").header(ACCEPT_ENCODING, accepted).body(Body::empty());
        let response = router.oneshot(request.unwrap()).await.unwrap();
        let encoding = response.headers().get(CONTENT_ENCODING)?;
        Some(encoding.to_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn only_large_text_is_compressed_and_only_on_request() {
        let gzip = Some("gzip".to_owned());
        assert_eq!(encoding(5000, "application/json", "gzip").await, gzip);
        assert_eq!(encoding(5000, "application/json", "br, gzip;q=0.5").await, gzip);
        assert_eq!(encoding(5000, "application/json", "br").await, None);
        assert_eq!(encoding(5000, "application/json", "gzip;q=0").await, None);
        assert_eq!(encoding(900, "application/json", "gzip").await, None);
        assert_eq!(encoding(5000, "image/png", "gzip").await, None);
        assert_eq!(encoding(5000, "application/gzip", "gzip").await, None);
    }
}
