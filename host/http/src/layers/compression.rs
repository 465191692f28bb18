//! Compresses answers with gzip for clients that accept it.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Response, header::ACCEPT_ENCODING},
};
use tower_http::{
    CompressionLevel,
    compression::{
        CompressionLayer, Predicate,
        predicate::{NotForContentType, SizeAbove},
    },
};

/// Below this many bytes the header and the work outweigh what is saved.
const LEAST_BYTES: u64 = 1024;

/// Marks an answer that is passed on as it is, in its extensions.
#[derive(Clone, Copy, Debug)]
pub struct AsItIs;

/// Skips answers that are marked [`AsItIs`].
#[derive(Clone, Copy, Debug)]
struct NotMarked;

impl Predicate for NotMarked {
    fn should_compress<B: http_body::Body>(&self, response: &Response<B>) -> bool {
        response.extensions().get::<AsItIs>().is_none()
    }
}

/// Returns the layer, which skips answers that are small, streamed as events, already compressed, marked [`AsItIs`], or have
/// a Content-Encoding.
pub(crate) fn gzip() -> CompressionLayer<impl Predicate> {
    let text_like = NotForContentType::IMAGES
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/gzip"))
        .and(NotForContentType::const_new("application/zip"))
        .and(NotForContentType::const_new("application/wasm"))
        .and(NotForContentType::const_new("font/"));
    CompressionLayer::new()
        // JSON shrinks nearly as much as at the best level, in a fraction of the time.
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(LEAST_BYTES).and(text_like).and(NotMarked))
}

/// Ignores that a client refuses plain answers: 406 after a completed call would only withhold the answer. RFC 9110,
/// section 12.5.3, allows this.
pub(crate) fn allow_plain(request: &mut Request) {
    let headers = request.headers_mut();
    if members(headers).any(refuses_plain) {
        let left: Vec<&str> = members(headers).filter(|member| !refuses_plain(member)).collect();
        // Built from a valid value, so it is valid.
        match HeaderValue::from_str(&left.join(",")) {
            Ok(left) => headers.insert(ACCEPT_ENCODING, left),
            Err(_) => headers.remove(ACCEPT_ENCODING),
        };
    }
}

/// Returns whether a client accepts answers in gzip (RFC 9110, section 12.5.3).
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut others = false;
    for (coding, weight) in members(headers).map(weighed) {
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            return weight > 0.0;
        }
        others |= coding == "*" && weight > 0.0;
    }
    others
}

/// Returns a member's coding and its weight.
fn weighed(member: &str) -> (&str, f32) {
    let mut parts = member.split(';').map(str::trim);
    let coding = parts.next().unwrap_or_default();
    let weight = |part: &str| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().ok())?
    };
    (coding, parts.find_map(weight).unwrap_or(1.0))
}

/// Returns every coding that `Accept-Encoding` lists, with its weight.
fn members(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(ACCEPT_ENCODING).into_iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','))
}

/// Returns whether a member gives weight zero to an answer without a coding.
fn refuses_plain(member: &str) -> bool {
    let mut parts = member.split(';').map(str::trim);
    let plain = parts.next().is_some_and(|coding| coding == "*" || coding.eq_ignore_ascii_case("identity"));
    let weight = |part: &str| {
        let (name, value) = part.split_once('=')?;
        name.eq_ignore_ascii_case("q").then(|| value.parse::<f32>().ok())?
    };
    plain && parts.filter_map(weight).any(|weight| weight == 0.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use axum::{
        Router,
        body::Body,
        http::{
            Request, StatusCode,
            header::{CONTENT_ENCODING, CONTENT_TYPE},
        },
        middleware::map_request,
        routing::get,
    };
    use tower::ServiceExt;

    use super::*;

    async fn allowing_plain(mut request: Request<Body>) -> Request<Body> {
        allow_plain(&mut request);
        request
    }

    async fn encoding(bytes: usize, kind: &'static str, accepted: &str) -> Option<String> {
        let answer = async move || ([(CONTENT_TYPE, kind)], "x".repeat(bytes));
        let router = Router::new().route("/", get(answer)).layer((map_request(allowing_plain), gzip()));
        let request = Request::get("/").header(ACCEPT_ENCODING, accepted).body(Body::empty());
        let response = router.oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{accepted}");
        let encoding = response.headers().get(CONTENT_ENCODING)?;
        Some(encoding.to_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn only_large_accepted_text_is_compressed() {
        let gzip = Some("gzip".to_owned());
        assert_eq!(encoding(5000, "application/json", "gzip").await, gzip);
        assert_eq!(encoding(5000, "application/json", "br, gzip;q=0.5").await, gzip);
        assert_eq!(encoding(5000, "application/json", "br").await, None);
        assert_eq!(encoding(5000, "application/json", "gzip;q=0").await, None);
        assert_eq!(encoding(900, "application/json", "gzip").await, None);
        assert_eq!(encoding(5000, "image/png", "gzip").await, None);
        assert_eq!(encoding(5000, "application/gzip", "gzip").await, None);
    }

    #[tokio::test]
    async fn a_plain_answer_is_always_allowed() {
        for refusing in
            ["identity;q=0", "*;q=0", "Identity ; q=0.000, *;Q=0", "br, identity;q=0", "gzip;q=0,*;q=0"]
        {
            assert_eq!(encoding(5000, "application/json", refusing).await, None, "{refusing}");
        }
        for accepting in ["identity;q=0, gzip", "gzip;q=0.1, *;q=0", "identity;q=0, *"] {
            let gzip = Some("gzip".to_owned());
            assert_eq!(encoding(5000, "application/json", accepting).await, gzip, "{accepting}");
            assert_eq!(encoding(900, "application/json", accepting).await, None, "{accepting}");
        }
        assert_eq!(encoding(5000, "application/json", "gzip;q=0.5, identity;q=1").await, None);
    }

    #[tokio::test]
    async fn marked_answer_is_left_as_it_is() {
        let answer = async || (axum::Extension(AsItIs), "x".repeat(5000));
        let router = Router::new().route("/", get(answer)).layer(gzip());
        let request = Request::get("/").header(ACCEPT_ENCODING, "gzip").body(Body::empty());
        let response = router.oneshot(request.unwrap()).await.unwrap();
        assert!(!response.headers().contains_key(CONTENT_ENCODING));
    }

    #[test]
    fn gzip_is_accepted_by_name_or_star() {
        let accepts =
            |value: &str| accepts_gzip(&HeaderMap::from_iter([(ACCEPT_ENCODING, value.parse().unwrap())]));
        for accepting in ["gzip", "br, GZIP;q=0.1", "x-gzip", "*", "br;q=1, * ; q=0.5", "*;q=0, gzip"] {
            assert!(accepts(accepting), "{accepting}");
        }
        for refusing in ["", "br", "gzip;q=0", "*;q=0", "*, gzip; q=0.000", "identity"] {
            assert!(!accepts(refusing), "{refusing}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn coding_steps_grow_with_their_list() {
        use bulkhead_steps::{Shape, assert_linear, repeated};

        let with = |unit: &str, bytes| {
            HeaderMap::from_iter([(ACCEPT_ENCODING, repeated("", unit, "", bytes).parse().unwrap())])
        };
        let shapes: [Shape<'_, HeaderMap>; 3] = [
            ("refused codings", &|bytes| with("*;q=0,", bytes)),
            ("commas", &|bytes| with(",", bytes)),
            ("parameters", &|bytes| with(";q=1", bytes)),
        ];
        let test = concat!(module_path!(), "::coding_steps_grow_with_their_list");
        assert_linear(test, 1 << 20, &shapes, |headers| {
            let mut request = Request::new(Body::empty());
            *request.headers_mut() = headers.clone();
            allow_plain(&mut request);
            (accepts_gzip(headers), request.headers().len())
        });
    }
}
