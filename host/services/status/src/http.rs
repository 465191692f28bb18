//! The status service's HTTP surface: `status/`, `status/metrics` and `healthcheck/` under the replaced server's base
//! path, in its envelope.

mod auth;
mod compress;
mod conditional;
mod envelope;
pub mod error;
mod gql;
mod health;
mod members;
mod metrics;
pub mod query;
mod report;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use bulkhead_http::{
    access_log::Served,
    forwarded::{self, Client},
};
use bulkhead_pow::Pow;
use bulkhead_runtime::keys::ApiKeys;

use self::{auth::Guard, envelope::Server, error::ApiError};
use crate::{StatusService, config::Status};

/// The service's name in logs and metrics.
pub const SERVICE: &str = "status";

/// What every answer carries, refusals included.
const SECURITY: [(HeaderName, &str); 7] = [
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_XSS_PROTECTION, "1; mode=block"),
    (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000; includeSubDomains"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'self'"),
    (header::REFERRER_POLICY, "strict-origin-when-cross-origin"),
    (HeaderName::from_static("permissions-policy"), "geolocation=(), microphone=(), camera=()"),
    (HeaderName::from_static("x-permitted-cross-domain-policies"), "none"),
];

/// What the routes work with.
pub struct StatusState {
    /// The service behind the routes.
    pub service: StatusService,
    guard: Guard,
    server: Server,
    base: String,
}

impl StatusState {
    /// The tokens that may read the status.
    pub fn tokens(&self) -> ApiKeys {
        self.guard.tokens()
    }

    /// A state as configured; `path_prefix` stands before the base path.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn new(
        service: StatusService,
        settings: &Status,
        path_prefix: &str,
        pow: Arc<Pow>,
    ) -> Result<Self, getrandom::Error> {
        let collector = service.collector();
        let guard = Guard::new(settings, collector.accounts(), pow)?;
        let server = Server::new(settings, path_prefix, collector.clock().clone());
        Ok(Self { service, guard, server, base: settings.base_path.clone() })
    }
}

/// The routes under the base path; other paths are left to whoever merges or nests this router.
///
/// Requests must carry [`Client`] as an extension.
pub fn router(state: StatusState) -> Router {
    let state = Arc::new(state);
    let routes = Router::new()
        .route("/status", get(report::report))
        .route("/status/", get(report::report))
        .route("/status/metrics", get(metrics::metrics))
        .route("/status/metrics/", get(metrics::metrics))
        .route("/healthcheck", get(health::healthcheck))
        .route("/healthcheck/", get(health::healthcheck))
        .method_not_allowed_fallback(wrong_method);
    // Without a base path the rest belongs to the whole host.
    let routes = match state.base.as_str() {
        "" => routes.route("/status/{*rest}", any(unknown)),
        base => Router::new()
            .nest(base, routes.route("/", any(unknown)).route("/{*rest}", any(unknown)))
            .route(&format!("{base}/"), any(unknown)),
    };
    forwarded::refuse_contradictions(routes, contradiction)
        .layer(middleware::from_fn_with_state(Arc::clone(&state), finish))
        .with_state(state)
}

fn contradiction(_: &Uri) -> Response {
    ApiError::contradicting_forwarded().into_response()
}

async fn unknown() -> ApiError {
    ApiError::not_found()
}

async fn wrong_method() -> ApiError {
    ApiError::wrong_method()
}

/// Writes errors out and adds what every answer carries.
async fn finish(State(state): State<Arc<StatusState>>, request: Request, next: Next) -> Response {
    let client = request.extensions().get::<Client>().cloned();
    let mut response = next.run(request).await;
    let mut served = Served { service: SERVICE, error: None };
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        served.error = error.status.is_server_error().then_some(error.code);
        let allow = response.headers().get(header::ALLOW).cloned();
        response = state.server.refusal(client.as_ref(), &error).into_response();
        if let Some(allow) = allow {
            response.headers_mut().insert(header::ALLOW, allow);
        }
    }
    response.extensions_mut().insert(served);
    let headers = response.headers_mut();
    for (name, value) in SECURITY {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("max-age=0"));
    response
}

/// A text in a media type.
fn typed(status: StatusCode, media_type: &'static str, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, media_type)], text).into_response()
}
