//! The HTTP routes of the status service: `status/`, `status/metrics` and `healthcheck/` under the base path of the replaced
//! server, in its envelope.

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
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use bulkhead_http::{
    access_log::Served,
    forwarded::{self, Client},
    middleware,
};
use bulkhead_pow::Pow;
use bulkhead_runtime::api_keys::ApiKeys;

use self::{auth::Authenticator, envelope::EnvelopeWriter, error::StatusApiError};
use crate::{StatusService, config::StatusSettings};

/// The service's name in logs and metrics.
pub const SERVICE: &str = "status";

/// Headers of every response, errors included.
const SECURITY: [(HeaderName, &str); 7] = [
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_XSS_PROTECTION, "1; mode=block"),
    (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000; includeSubDomains"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'self'"),
    (header::REFERRER_POLICY, "strict-origin-when-cross-origin"),
    (HeaderName::from_static("permissions-policy"), "geolocation=(), microphone=(), camera=()"),
    (HeaderName::from_static("x-permitted-cross-domain-policies"), "none"),
];

/// The state of the routes.
pub struct StatusState {
    /// The service behind the routes.
    pub service: StatusService,
    authenticator: Authenticator,
    envelope: EnvelopeWriter,
    base: String,
}

impl StatusState {
    /// Returns the tokens that may read the status.
    pub fn tokens(&self) -> ApiKeys {
        self.authenticator.tokens()
    }

    /// Creates the state from the configuration; `path_prefix` precedes the base path.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn new(
        service: StatusService,
        settings: &StatusSettings,
        path_prefix: &str,
        pow: Arc<Pow>,
    ) -> Result<Self, getrandom::Error> {
        let collector = service.collector();
        let authenticator = Authenticator::new(settings, collector.accounts(), pow)?;
        let envelope = EnvelopeWriter::new(settings, path_prefix, collector.clock().clone());
        Ok(Self { service, authenticator, envelope, base: settings.base_path.clone() })
    }
}

/// Returns the routes under the base path. Other paths are left to the router that merges or nests this one.
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
    // Without a base path, other paths belong to the host.
    let routes = match state.base.as_str() {
        "" => routes.route("/status/{*rest}", any(unknown)),
        base => Router::new()
            .nest(base, routes.route("/", any(unknown)).route("/{*rest}", any(unknown)))
            .route(&format!("{base}/"), any(unknown)),
    };
    let finished = {
        let state = Arc::clone(&state);
        move |client: Option<Client>, response: Response| finish(&state, client.as_ref(), response)
    };
    let check = forwarded::contradiction_check(contradiction);
    let noted = |request: &Request| request.extensions().get::<Client>().cloned();
    middleware::check_and_change(routes, check, noted, finished).with_state(state)
}

/// Answers a request whose forwarding headers contradict each other.
fn contradiction(_: &Uri) -> Response {
    StatusApiError::contradicting_forwarded().into_response()
}

async fn unknown() -> StatusApiError {
    StatusApiError::not_found()
}

async fn wrong_method() -> StatusApiError {
    StatusApiError::wrong_method()
}

/// Writes errors in their envelope and adds the headers of every response.
fn finish(state: &StatusState, client: Option<&Client>, mut response: Response) -> Response {
    let mut served = Served { service: SERVICE, error: None };
    if let Some(error) = response.extensions_mut().remove::<StatusApiError>() {
        served.error = error.status.is_server_error().then_some(error.code);
        let allow = response.headers().get(header::ALLOW).cloned();
        response = state.envelope.error(client, &error).into_response();
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

/// Returns a text with its media type.
fn typed(status: StatusCode, media_type: &'static str, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, media_type)], text).into_response()
}
