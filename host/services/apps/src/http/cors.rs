//! Cross-origin requests of pages in browsers (CORS, Fetch standard).

use std::time::Duration;

use axum::{Router, http::HeaderValue};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

/// How long a browser may cache the response to a preflight.
const PREFLIGHT: Duration = Duration::from_mins(10);

/// Allows pages of `origins` to call the app, all pages where one is `*`, with any method and any field. Credentials of the
/// browser are never allowed. Without origins, the app answers preflights itself.
pub(super) fn with_cors(router: Router, origins: &[HeaderValue]) -> Router {
    if origins.is_empty() {
        return router;
    }
    let any = origins.iter().any(|origin| origin == "*");
    let origins = if any { AllowOrigin::any() } else { AllowOrigin::list(origins.iter().cloned()) };
    let cors = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(AllowMethods::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .max_age(PREFLIGHT);
    router.layer(cors)
}
