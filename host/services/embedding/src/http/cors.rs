//! Which pages may call from a browser (CORS, Fetch standard).

use std::time::Duration;

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Method, header},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// A browser may keep a preflight's answer for so long.
const PREFLIGHT: Duration = Duration::from_mins(10);

/// Lets pages of `origins` call `router`, all pages where one is `*`. A page sends the key as a header of its own, so
/// the browser's credentials are never allowed.
pub fn around<S: Clone + Send + Sync + 'static>(router: Router<S>, origins: &[HeaderValue]) -> Router<S> {
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
