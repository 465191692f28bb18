//! Cross-origin requests of pages in browsers (CORS, Fetch standard).

use std::time::Duration;

use axum::{
    Router,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, header},
    middleware::{self, Next},
    response::Response,
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::work;

/// How long a browser may cache the response to a preflight.
const PREFLIGHT: Duration = Duration::from_mins(10);

/// What the names of headers begin with that OpenAI's SDK sends about itself.
const STAINLESS: &str = "x-stainless-";
/// The most such headers of a request; the SDK sends eight.
const STAINLESS_HEADERS: usize = 32;

/// Allows pages of `origins` to call `router`, all pages where one is `*`. A page sends the key as a header of its own, so
/// browser credentials are never allowed.
pub fn with_cors<S: Clone + Send + Sync + 'static>(router: Router<S>, origins: &[HeaderValue]) -> Router<S> {
    if origins.is_empty() {
        return router;
    }
    let any = origins.iter().any(|origin| origin == "*");
    let origins = if any { AllowOrigin::any() } else { AllowOrigin::list(origins.iter().cloned()) };
    let exposed =
        [header::RETRY_AFTER, HeaderName::from_static("x-request-id")].into_iter().chain(work::HEADERS);
    let cors = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("x-request-id"),
            HeaderName::from_static("traceparent"),
        ])
        .expose_headers(exposed.collect::<Vec<_>>())
        .max_age(PREFLIGHT);
    router.layer(cors).layer(middleware::from_fn(allow_stainless))
}

/// Middleware: allows a page's preflight the headers that OpenAI's SDK sends about itself.
async fn allow_stainless(request: Request, next: Next) -> Response {
    let asked = request.headers().get_all(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let asked: Vec<String> = asked
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| name.starts_with(STAINLESS) && HeaderName::try_from(name.as_str()).is_ok())
        .take(STAINLESS_HEADERS)
        .collect();
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if !headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        return response;
    }
    let allowed = headers.get(header::ACCESS_CONTROL_ALLOW_HEADERS).and_then(|value| value.to_str().ok());
    let names =
        allowed.map(|allowed| asked.iter().fold(allowed.to_owned(), |all, name| format!("{all},{name}")));
    if let Some(Ok(names)) = names.map(HeaderValue::try_from) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    }
    response
}
