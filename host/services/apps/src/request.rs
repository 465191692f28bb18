//! What a guest gets of a client's request.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes},
    http::{
        HeaderMap, HeaderName, HeaderValue, Request, Uri,
        header::{CONNECTION, COOKIE, FORWARDED, HOST, TE},
        request::Parts,
        uri::Authority,
    },
};
use bulkhead_http::forwarded::Client;
use http_body::{Body as HttpBody, Frame, SizeHint};
use wasmtime_wasi_http::Error;

use crate::progress::CallProgress;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The host name of a request that names none, which HTTP/1.0 allows.
const NO_HOST: &str = "localhost";

/// A request as a guest gets it.
pub(crate) type GuestRequest = Request<IncomingBody>;

/// Returns a client's request as a guest gets it: with the scheme and the host that the client used, below the mount if the
/// mount is taken off the path, and without what concerns this connection only. `None` if its target is not a path.
pub(crate) fn for_guest(
    mut parts: Parts,
    body: IncomingBody,
    client: &Client,
    stripped: Option<&str>,
) -> Option<GuestRequest> {
    // The target of `OPTIONS *`.
    if !parts.uri.path().starts_with('/') {
        return None;
    }
    let path = match stripped {
        Some(prefix) => bulkhead_http::path::after_prefix(parts.uri.path(), prefix)?,
        None => parts.uri.path(),
    };
    let path = if path.is_empty() { "/" } else { path };
    // One copy, which the target and the field share.
    let authority = Bytes::copy_from_slice(client.host.as_deref().unwrap_or(NO_HOST).as_bytes());
    let uri = Uri::builder().scheme(client.scheme);
    let uri = uri.authority(Authority::from_maybe_shared(authority.clone()).ok()?);
    let uri = match (parts.uri.path_and_query(), parts.uri.query()) {
        (Some(target), _) if stripped.is_none() => uri.path_and_query(target.clone()),
        (_, Some(query)) => uri.path_and_query(format!("{path}?{query}")),
        (_, None) => uri.path_and_query(path),
    };
    parts.uri = uri.build().ok()?;
    remove_hop_by_hop(&mut parts.headers);
    join_cookies(&mut parts.headers);
    set_forwarded(&mut parts.headers, client, authority, stripped);
    let mut request = Request::new(body);
    (*request.method_mut(), *request.uri_mut()) = (parts.method, parts.uri);
    *request.headers_mut() = parts.headers;
    Some(request)
}

/// Removes fields that concern one connection only (RFC 9110, section 7.6.1): those that `Connection` names, and those that
/// always do, as far as no guest can see them anyway.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&[CONNECTION, HOST, TE]) {
        headers.remove(name);
    }
}

/// Joins the cookies that a client has sent as a field each, which HTTP/2 allows (RFC 9113, section 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if cookies.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
}

/// Returns whether a field says who the client is, which the host knows better.
fn is_of_client(name: &HeaderName) -> bool {
    *name == FORWARDED || name.as_str() == "x-real-ip" || name.as_str().starts_with("x-forwarded-")
}

/// Sets the fields that say who the client is, as the host knows it after trusted proxies.
fn set_forwarded(headers: &mut HeaderMap, client: &Client, authority: Bytes, stripped: Option<&str>) {
    let sent: Vec<HeaderName> = headers.keys().filter(|name| is_of_client(name)).cloned().collect();
    for name in sent {
        headers.remove(name);
    }
    let prefix = stripped.filter(|prefix| !prefix.is_empty());
    for (name, value) in [
        (X_FORWARDED_FOR, HeaderValue::try_from(client.address.to_string()).ok()),
        (X_FORWARDED_HOST, HeaderValue::from_maybe_shared(authority).ok()),
        (X_FORWARDED_PROTO, Some(HeaderValue::from_static(client.scheme))),
        (X_FORWARDED_PREFIX, prefix.and_then(|prefix| HeaderValue::from_str(prefix).ok())),
    ] {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
}

/// The body of a client's request, within a number of bytes. It is read when the guest reads it, and not before.
pub(crate) struct IncomingBody {
    inner: Body,
    left: usize,
    progress: Arc<CallProgress>,
}

impl IncomingBody {
    /// Returns a body of at most `bytes`.
    pub(crate) fn new(inner: Body, bytes: usize, progress: Arc<CallProgress>) -> Self {
        Self { inner, left: bytes, progress }
    }

    /// Returns whether the client has declared a body that is too large.
    pub(crate) fn is_declared_too_large(&self) -> bool {
        self.inner.size_hint().lower() > self.left as u64
    }
}

impl HttpBody for IncomingBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            Some(Err(_)) => {
                self.progress.set_request_broken();
                return Poll::Ready(Some(Err(Error::ConnectionTerminated)));
            }
            None => return Poll::Ready(None),
        };
        if let Some(data) = frame.data_ref() {
            match self.left.checked_sub(data.len()) {
                Some(left) => self.left = left,
                None => {
                    self.progress.set_request_too_large();
                    return Poll::Ready(Some(Err(Error::HttpRequestBodySize(None))));
                }
            }
        }
        self.progress.set_moved();
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use http_body_util::BodyExt as _;

    use super::*;

    fn client() -> Client {
        let host = Some("www.example.org:8443".to_owned());
        Client { address: [192, 0, 2, 7].into(), scheme: "https", host }
    }

    fn asked(target: &str, fields: &[(&'static str, &'static str)], stripped: Option<&str>) -> GuestRequest {
        tried(target, fields, stripped).unwrap()
    }

    fn tried(
        target: &str,
        fields: &[(&'static str, &'static str)],
        stripped: Option<&str>,
    ) -> Option<GuestRequest> {
        let mut request = Request::get(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let body = IncomingBody::new(Body::empty(), 0, Arc::new(CallProgress::new()));
        for_guest(parts, body, &client(), stripped)
    }

    #[test]
    fn target_without_path_is_refused() {
        assert!(tried("*", &[], None).is_none());
        assert_eq!(asked("http://x", &[], None).uri().path(), "/");
    }

    #[test]
    fn guest_sees_scheme_and_host_of_client() {
        let spoofed = [
            ("host", "10.0.0.1"),
            ("forwarded", "for=10.0.0.1"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-port", "1"),
            ("x-real-ip", "10.0.0.1"),
        ];
        let request = asked("/shop/a?b=c", &spoofed, None);
        assert_eq!(request.uri(), "https://www.example.org:8443/shop/a?b=c");
        let headers = request.headers();
        assert_eq!(headers["x-forwarded-for"], "192.0.2.7");
        assert_eq!(headers["x-forwarded-proto"], "https");
        for name in ["forwarded", "x-forwarded-prefix", "x-forwarded-port", "x-real-ip"] {
            assert!(!headers.contains_key(name), "{name}");
        }
    }

    #[test]
    fn cookies_are_joined_into_one_field() {
        let request = asked("/", &[("cookie", "a=1"), ("x-other", "2"), ("cookie", "b=2; c=3")], None);
        let cookies: Vec<_> = request.headers().get_all(COOKIE).iter().collect();
        assert_eq!(cookies, ["a=1; b=2; c=3"]);
        assert_eq!(asked("/", &[("cookie", "a=1")], None).headers()[COOKIE], "a=1");
    }

    #[test]
    fn mount_is_taken_off_path() {
        for (target, seen) in
            [("/shop", "/"), ("/shop?a", "/?a"), ("/shop/", "/"), ("/shop/a%2fb//c", "/a%2fb//c")]
        {
            let request = asked(target, &[("x-forwarded-prefix", "/spoofed")], Some("/shop"));
            assert_eq!(request.uri().path_and_query().unwrap(), seen, "{target}");
            assert_eq!(request.headers()["x-forwarded-prefix"], "/shop");
        }
        assert!(
            !asked("/a", &[("x-forwarded-prefix", "/b")], None).headers().contains_key("x-forwarded-prefix")
        );
    }

    #[test]
    fn fields_of_connection_are_removed() {
        let fields = [("connection", "close, X-Own"), ("x-own", "1"), ("te", "trailers"), ("x-other", "2")];
        let request = asked("/", &fields, None);
        for name in ["connection", "x-own", "te"] {
            assert!(!request.headers().contains_key(name), "{name}");
        }
        assert_eq!(request.headers()["x-other"], "2");
    }

    #[tokio::test]
    async fn body_ends_at_its_limit() {
        let body = |limit| IncomingBody::new(Body::from("12345678"), limit, Arc::new(CallProgress::new()));
        assert_eq!(body(8).collect().await.unwrap().to_bytes(), "12345678");
        let larger = body(7);
        assert!(larger.is_declared_too_large() && !body(8).is_declared_too_large());
        let progress = Arc::clone(&larger.progress);
        assert!(matches!(larger.collect().await, Err(Error::HttpRequestBodySize(None))));
        assert!(progress.is_request_too_large());
    }
}
