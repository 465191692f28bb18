//! Decides which pages may use a site's widget endpoints from a browser (CORS, Fetch standard).
//!
//! Credentials are never allowed: the endpoints use none.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header, request::Parts};
use bulkhead_http::forwarded::Client;

use super::error::CaptchaApiError;

/// The entry that allows every origin.
pub const ANY_ORIGIN: &str = "*";

/// How long a browser may cache the answer to a preflight, seconds.
const PREFLIGHT_SECONDS: &str = "600";

/// The decision on a call by its `Origin` and a list of allowed origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsDecision {
    /// The call comes from no page, or from one that needs no permission.
    NoOrigin,
    /// The page may read the answer.
    Allowed(HeaderValue),
    /// The page may not read the answer.
    Refused,
}

impl CorsDecision {
    /// Decides on a call. The host's own pages are always allowed.
    pub fn of<'a>(request: &Parts, mut allowed: impl Iterator<Item = &'a str>) -> Self {
        let Some(origin) = request.headers.get(header::ORIGIN) else {
            return Self::NoOrigin;
        };
        let Ok(text) = origin.to_str() else {
            return Self::Refused;
        };
        let listed = allowed.any(|entry| entry == ANY_ORIGIN || entry.eq_ignore_ascii_case(text));
        if listed || is_own(text, request.extensions.get()) {
            Self::Allowed(origin.clone())
        } else {
            Self::Refused
        }
    }

    /// Returns the host name of an allowed page.
    pub fn hostname(&self) -> Option<String> {
        let Self::Allowed(origin) = self else {
            return None;
        };
        let uri: Uri = origin.to_str().ok()?.parse().ok()?;
        uri.host().map(str::to_owned)
    }

    /// Returns an error for a page that is not allowed.
    pub fn check(&self) -> Result<(), CaptchaApiError> {
        match self {
            Self::Refused => Err(CaptchaApiError::new(
                StatusCode::FORBIDDEN,
                "origin-not-allowed",
                "the page's origin is not in the site's allowed_origins",
            )),
            Self::NoOrigin | Self::Allowed(_) => Ok(()),
        }
    }

    /// Writes the headers of the answer.
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        if let Self::Allowed(origin) = self {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let exposed = HeaderValue::from_static("retry-after, x-request-id");
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }

    /// Writes the headers of the answer to a preflight.
    pub fn write_preflight(&self, headers: &mut HeaderMap) {
        self.write(headers);
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, x-request-id, traceparent"),
            (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

/// Checks whether an origin is the host of the request.
fn is_own(origin: &str, client: Option<&Client>) -> bool {
    let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let host = client.and_then(|client| client.host.as_deref());
    authority.zip(host).is_some_and(|(authority, host)| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use axum::http::Request;

    use super::*;

    fn decide(origin: Option<&str>, allowed: &[&str]) -> CorsDecision {
        let (mut parts, ()) = Request::new(()).into_parts();
        let host = Some("captcha.example:8080".to_owned());
        parts.extensions.insert(Client { address: [192, 0, 2, 1].into(), scheme: "http", host });
        if let Some(origin) = origin {
            parts.headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        CorsDecision::of(&parts, allowed.iter().copied())
    }

    fn allowed(origin: &str) -> CorsDecision {
        CorsDecision::Allowed(HeaderValue::from_str(origin).unwrap())
    }

    #[test]
    fn listed_origins_and_own_host_pass() {
        let list = ["https://www.example.org", "https://b.example"];
        assert_eq!(decide(None, &list), CorsDecision::NoOrigin);
        for origin in ["https://www.example.org", "https://WWW.example.org", "http://captcha.example:8080"] {
            assert_eq!(decide(Some(origin), &list), allowed(origin));
        }
        for origin in [
            "http://www.example.org",
            "https://www.example.org:444",
            "https://www.example.org.evil",
            "null",
            "",
            "*",
            "https://captcha.example",
            "captcha.example:8080",
        ] {
            assert_eq!(decide(Some(origin), &list), CorsDecision::Refused, "{origin}");
            assert_eq!(decide(Some(origin), &list).check().unwrap_err().status, 403);
        }
    }

    #[test]
    fn star_allows_every_origin_without_credentials() {
        let mut headers = HeaderMap::new();
        decide(Some("https://any.example"), &["*"]).write(&mut headers);
        assert_eq!(headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], "https://any.example");
        assert_eq!(headers[header::VARY], "origin");
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
    }

    #[test]
    fn allowed_page_has_a_host_name() {
        assert_eq!(allowed("https://www.example.org:444").hostname().as_deref(), Some("www.example.org"));
        assert_eq!(allowed("null").hostname(), Some("null".into()));
        assert_eq!(CorsDecision::NoOrigin.hostname(), None);
    }

    #[test]
    fn refusal_varies_by_origin() {
        let mut headers = HeaderMap::new();
        decide(Some("https://any.example"), &[]).write(&mut headers);
        assert_eq!(headers[header::VARY], "origin");
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
    }

    #[test]
    fn preflight_lists_methods_and_headers() {
        let mut headers = HeaderMap::new();
        allowed("https://b.example").write_preflight(&mut headers);
        assert_eq!(headers[header::ACCESS_CONTROL_ALLOW_METHODS], "GET, POST");
        assert_eq!(headers[header::ACCESS_CONTROL_MAX_AGE], PREFLIGHT_SECONDS);
    }
}
