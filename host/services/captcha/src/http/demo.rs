//! `/demo/captcha`: a page for trying the service, served only in demo mode.
//!
//! By default it solves challenges with a small script of its own. With `?widget=URL` it shows the
//! `<altcha-widget>` of that module instead: a path on this host, or a URL on this machine. Further
//! parameters: `siteKey` (default `demo`), `action`, and `delay`, milliseconds between solving and
//! verifying. The content security policy makes sure that nothing is loaded from elsewhere.

use axum::{
    Router,
    extract::RawQuery,
    http::{HeaderName, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{NEVER_CACHED, request::UrlParameters};

const PAGE: &str = include_str!("demo/demo.html");
const SCRIPT: &str = include_str!("demo/demo.js");
const SOLVER: &str = include_str!("demo/solver.js");
const STYLE: &str = include_str!("demo/demo.css");

/// Hosts other than this one from which the widget may be loaded.
const LOCAL_HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// Returns the routes of the page and its files.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/demo/captcha", get(page))
        .route("/demo/captcha/demo.js", get(|| async { asset("text/javascript; charset=utf-8", SCRIPT) }))
        .route("/demo/captcha/solver.js", get(|| async { asset("text/javascript; charset=utf-8", SOLVER) }))
        .route("/demo/captcha/demo.css", get(|| async { asset("text/css; charset=utf-8", STYLE) }))
}

async fn page(RawQuery(query): RawQuery) -> Response {
    let parameters = UrlParameters::parse(query.as_deref().unwrap_or_default());
    let widget = parameters.as_ref().map(|parameters| parameters.get("widget").map(widget_source));
    let policy = match widget {
        Ok(None) => policy("", ""),
        Ok(Some(Some(source))) => policy(&source, " 'unsafe-inline'"),
        Ok(Some(None)) | Err(_) => {
            let message = "widget must be a path on this host or a URL on 127.0.0.1 or localhost";
            return (StatusCode::BAD_REQUEST, message).into_response();
        }
    };
    let mut response = asset("text/html; charset=utf-8", PAGE);
    if let Ok(policy) = policy.parse() {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns the content security policy: it allows scripts from this host and from the widget's origin, and inline
/// styles and workers for the widget.
fn policy(scripts: &str, inline_style: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'{scripts}; style-src 'self'{inline_style}; connect-src 'self'; \
         img-src data:; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// Returns the script source that the policy needs for a widget's address, after a space; empty on this host, and
/// `None` when the widget may not be loaded.
fn widget_source(address: &str) -> Option<String> {
    if address.starts_with('/') && !address.starts_with("//") && !address.contains('\\') {
        return Some(String::new());
    }
    let uri: Uri = address.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let own = matches!(scheme, "http" | "https") && LOCAL_HOSTS.contains(&authority.host());
    let plain = !authority.as_str().contains('@');
    (own && plain).then(|| format!(" {scheme}://{authority}"))
}

fn asset(content_type: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, content_type), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, [(header::CACHE_CONTROL, NEVER_CACHED)], text).into_response()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;

    async fn fetch(path: &str) -> Response {
        router().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap()
    }

    #[test]
    fn widgets_come_from_this_machine_only() {
        for (address, source) in [
            ("/demo/altcha.js", Some("")),
            ("http://127.0.0.1:4000/altcha.js", Some(" http://127.0.0.1:4000")),
            ("https://localhost/altcha.js?x=1", Some(" https://localhost")),
            ("//evil.example/altcha.js", None),
            ("/\\evil.example/altcha.js", None),
            ("https://evil.example/altcha.js", None),
            ("http://127.0.0.1.evil.example/a.js", None),
            ("http://localhost@evil.example/a.js", None),
            ("http://user@localhost/a.js", None),
            ("javascript:alert(1)", None),
            ("data:text/javascript,1", None),
            ("", None),
        ] {
            assert_eq!(widget_source(address).as_deref(), source, "{address}");
        }
    }

    #[tokio::test]
    async fn policy_allows_only_the_widget() {
        let response = fetch("/demo/captcha").await;
        assert_eq!(response.status(), 200);
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");

        let response = fetch("/demo/captcha?widget=http%3A%2F%2F127.0.0.1%3A4000%2Fa.js").await;
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("script-src 'self' http://127.0.0.1:4000;"), "{policy}");

        assert_eq!(fetch("/demo/captcha?widget=https%3A%2F%2Fevil.example%2Fa.js").await.status(), 400);
    }

    #[tokio::test]
    async fn files_of_the_page_are_served() {
        assert!(SCRIPT.contains("\"./solver.js\""));
        for (path, kind) in
            [("demo.js", "text/javascript"), ("solver.js", "text/javascript"), ("demo.css", "text/css")]
        {
            assert!(path == "solver.js" || PAGE.contains(&format!("captcha/{path}")), "{path}");
            let response = fetch(&format!("/demo/captcha/{path}")).await;
            assert_eq!(response.status(), 200);
            assert!(response.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with(kind));
        }
        assert!(!PAGE.contains("://"), "the page loads nothing from elsewhere");
    }
}
