//! Cross-origin requests of pages in browsers (CORS, Fetch standard).

use std::time::Duration;

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Method, header},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may cache the response to a preflight.
const PREFLIGHT: Duration = Duration::from_mins(10);

/// Allows pages of `origins` to call `router`, all pages where one is `*`. A page sends the key as a header of its own, so
/// browser credentials are never allowed.
pub fn with_cors<S: Clone + Send + Sync + 'static>(router: Router<S>, origins: &[HeaderValue]) -> Router<S> {
    if origins.is_empty() {
        return router;
    }
    let any = origins.iter().any(|origin| origin == "*");
    let origins = if any { AllowOrigin::any() } else { AllowOrigin::list(origins.iter().cloned()) };
    let cors = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("x-request-id"),
            HeaderName::from_static("traceparent"),
        ])
        .expose_headers([
            header::RETRY_AFTER,
            HeaderName::from_static("x-request-id"),
            HeaderName::from_static("x-truncated-inputs"),
        ])
        .max_age(PREFLIGHT);
    router.layer(cors)
}
