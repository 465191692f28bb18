//! Cross-origin requests of pages in browsers (CORS, Fetch standard).

use std::time::Duration;

use axum::{
    Router,
    extract::Request,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method,
        header::{
            ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
            ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
        },
    },
    middleware::map_request,
};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

/// How long a browser may cache the response to a preflight.
const PREFLIGHT: Duration = Duration::from_mins(10);
/// Fields of responses that say which pages may call, and how.
const OF_HOST: [HeaderName; 5] = [
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_MAX_AGE,
    HeaderName::from_static("access-control-allow-private-network"),
];

/// Removes the fields of a guest's response by which it would allow pages more than the host does: credentials of the browser,
/// and where the configuration lists origins, everything but the fields that a page may read.
pub(super) fn remove_permissions(headers: &mut HeaderMap, origins: &[HeaderValue]) {
    headers.remove(ACCESS_CONTROL_ALLOW_CREDENTIALS);
    if !origins.is_empty() {
        for name in OF_HOST {
            headers.remove(name);
        }
    }
}

/// Allows pages of `origins` to call the app, all pages where one is `*`, with any method and any field. Credentials of the
/// browser are never allowed.
pub(super) fn with_cors(router: Router, origins: &[HeaderValue]) -> Router {
    let any = origins.iter().any(|origin| origin == "*");
    let origins = if any { AllowOrigin::any() } else { AllowOrigin::list(origins.iter().cloned()) };
    let cors = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(AllowMethods::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .max_age(PREFLIGHT);
    router.layer(map_request(restored)).layer(cors).layer(map_request(covered))
}

/// Marks an `OPTIONS` that is for the app, and goes as a `GET` past the layer that takes every `OPTIONS` for a preflight.
#[derive(Clone, Copy)]
struct Covered;

async fn covered(mut request: Request) -> Request {
    if request.method() == Method::OPTIONS && !is_preflight(request.headers()) {
        *request.method_mut() = Method::GET;
        request.extensions_mut().insert(Covered);
    }
    request
}

async fn restored(mut request: Request) -> Request {
    if request.extensions_mut().remove::<Covered>().is_some() {
        *request.method_mut() = Method::OPTIONS;
    }
    request
}

/// Returns whether an `OPTIONS` with these fields asks on behalf of a page, and not the app itself.
fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
