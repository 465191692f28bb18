//! Answers requests that never reached a service, in the host's format:
//! `{"error":"not_found","message":"..."}`.

use std::any::Any;

use axum::{
    Extension, Json, Router,
    http::{
        StatusCode,
        header::{CACHE_CONTROL, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use bulkhead_telemetry::logs::panic_text;
use serde_json::json;

/// Prevents caching: a path without a route today may have one tomorrow.
pub(super) const NO_STORE: &str = "no-cache, no-store, must-revalidate";

/// When a client may ask a host again that is starting, seconds.
const STARTING_SECONDS: &str = "1";

/// An error in the host's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostError {
    /// The status.
    pub status: StatusCode,
    /// A code for programs.
    pub code: &'static str,
    /// A sentence for people; contains nothing from the request.
    pub message: &'static str,
}

impl HostError {
    /// No route has this path.
    pub const NOT_FOUND: Self =
        Self { status: StatusCode::NOT_FOUND, code: "not_found", message: "nothing is served at this path" };
    /// The route exists, but not for this method.
    pub const METHOD_NOT_ALLOWED: Self = Self {
        status: StatusCode::METHOD_NOT_ALLOWED,
        code: "method_not_allowed",
        message: "this path does not answer to this method, see the Allow header",
    };
    /// The Host field is missing, doubled or malformed.
    pub(crate) const BAD_HOST: Self = Self {
        status: StatusCode::BAD_REQUEST,
        code: "bad_host",
        message: "the request must name one host in one Host header",
    };
    /// The request head is not HTTP.
    pub(crate) const MALFORMED_HEAD: Self = Self {
        status: StatusCode::BAD_REQUEST,
        code: "malformed_head",
        message: "the request head is not well-formed HTTP",
    };
    /// The request head is too large.
    pub(crate) const HEAD_TOO_LARGE: Self = Self {
        status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        code: "head_too_large",
        message: "the request head has more than 65536 bytes or more than 100 fields",
    };
    /// No route has this path yet.
    pub(crate) const STARTING: Self = Self {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "starting",
        message: "the host is starting, and what it serves at this path is not ready yet; ask again",
    };
    /// A defect of the host.
    pub const INTERNAL: Self = Self {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        code: "internal_error",
        message: "the host failed on this request, its log says why",
    };
}

impl IntoResponse for HostError {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.code, "message": self.message });
        // Also an extension, for middleware with its own format.
        (self.status, [(CACHE_CONTROL, NO_STORE)], Extension(self), Json(body)).into_response()
    }
}

/// Answers unknown paths with 404 and wrong methods with 405 and `Allow`. Reaches the routes that
/// `router` already has.
pub fn with_fallbacks<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router
        .fallback(async || HostError::NOT_FOUND)
        .method_not_allowed_fallback(async || HostError::METHOD_NOT_ALLOWED)
}

/// Returns what takes the requests that no route takes while routes are still added.
pub fn starting() -> Router {
    Router::new().fallback(async || ([(RETRY_AFTER, STARTING_SECONDS)], HostError::STARTING))
}

/// Answers a handler's panic, whose message is only logged.
pub fn answer_panic(panic: Box<dyn Any + Send>) -> Response {
    let message = panic_text(&*panic);
    tracing::error!(message, "a handler panicked");
    HostError::INTERNAL.into_response()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use axum::{
        body::{Body, to_bytes},
        http::{Request, header::ALLOW},
        routing::{get, post},
    };
    use tower::ServiceExt;
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;

    async fn ask(method: &str, path: &str) -> (Response, String) {
        let explode = async || -> () { panic!("password is swordfish") };
        let router = Router::new().route("/thing", post(async || "").get(explode));
        let router = with_fallbacks(router.route("/other", get(async || "")))
            .layer(CatchPanicLayer::custom(answer_panic));
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
        let text = String::from_utf8(to_bytes(body, 1000).await.unwrap().to_vec()).unwrap();
        (Response::from_parts(parts, Body::empty()), text)
    }

    #[tokio::test]
    async fn unknown_path_is_404_without_echo() {
        let (response, text) = ask("GET", "/no%3Cscript%3E").await;
        assert_eq!(response.status(), 404);
        let wanted = json!({ "error": "not_found", "message": "nothing is served at this path" });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), wanted);
    }

    #[tokio::test]
    async fn starting_host_asks_to_come_back() {
        let request = Request::builder().uri("/thing").body(Body::empty()).unwrap();
        let response = starting().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        let body = to_bytes(response.into_body(), 1000).await.unwrap();
        assert!(body.starts_with(br#"{"error":"starting","message":""#), "{body:?}");
    }

    #[tokio::test]
    async fn a_wrong_method_is_405_with_allow() {
        let (response, text) = ask("DELETE", "/thing").await;
        assert_eq!(response.status(), 405);
        assert!(text.contains(r#""error":"method_not_allowed""#), "{text}");
        let allow = response.headers()[ALLOW].to_str().unwrap();
        assert!(allow.contains("POST") && allow.contains("GET"), "{allow}");
    }

    #[tokio::test]
    async fn a_panic_is_500_and_leaks_nothing() {
        let (response, text) = ask("GET", "/thing").await;
        assert_eq!(response.status(), 500);
        assert!(text.contains(r#""error":"internal_error""#), "{text}");
        assert!(!text.contains("swordfish"), "{text}");
    }
}
