//! The captcha service's HTTP surface: the paths of captchaservice 2.x, the widget's own, and
//! `siteverify`.
//!
//! Every answer forbids caching, and every error has the one shape of [`error`].

mod address;
mod auth;
mod backend;
mod cors;
pub mod demo;
pub mod envelope;
pub mod error;
mod members;
mod multipart;
pub mod payload;
mod request;
mod secret_guesses;
mod siteverify;
mod widget;
mod widget_files;

use std::{sync::Arc, time::SystemTime};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, any},
};
use bulkhead_config::server::Server;
use bulkhead_http::{
    access_log::Served,
    body::BodyLimits,
    forwarded::{self, Contradicting},
    rate_limit::RateLimiter,
};
use thiserror::Error;

use self::{error::ApiError, secret_guesses::SecretGuesses};
use crate::{CaptchaService, RejectedRequest, config::Captcha};

pub use self::auth::{AuthError, Guard};
pub use self::widget_files::{WidgetFiles, WidgetFilesError};

/// Where the service's paths begin.
const BASE: &str = "/api/v1/captcha";

/// No answer of this service may be kept, by anybody.
const NEVER_CACHED: HeaderValue = HeaderValue::from_static("no-cache, no-store, must-revalidate");

/// Why the surface cannot be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The guard cannot be set up.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The widget's files cannot be served.
    #[error(transparent)]
    WidgetFiles(#[from] WidgetFilesError),
    /// The operating system gives no random bytes.
    #[error("cannot draw a random key for rate limits: {0}")]
    Random(getrandom::Error),
}

/// What the routes work with.
pub struct CaptchaState {
    /// The service behind the routes.
    pub service: Arc<CaptchaService>,
    /// Guards the back-end endpoints.
    pub guard: Arc<Guard>,
    /// What a request body may cost.
    pub body_limits: BodyLimits,
    /// Allowances of the widget endpoints' clients.
    pub limiter: RateLimiter,
    /// Wrong secrets that came to `siteverify`.
    pub guesses: SecretGuesses,
    /// Answers of `siteverify` that are given again.
    pub answers: siteverify::Answers,
    /// The widget's files, where there are any.
    pub widget_files: Option<WidgetFiles>,
    /// Stands before every path in error bodies: empty or `/something`.
    pub path_prefix: String,
}

impl CaptchaState {
    /// A state as configured.
    pub fn new(
        service: Arc<CaptchaService>,
        captcha: &Captcha,
        server: &Server,
        path_prefix: &str,
    ) -> Result<Self, SetupError> {
        let (bytes, key) = match captcha.body_bytes <= server.body_bytes {
            true => (captcha.body_bytes, "captcha.body_bytes"),
            false => (server.body_bytes, "server.body_bytes"),
        };
        let widget_files = WidgetFiles::configured(captcha)?;
        if let Some(warning) = widget_files.as_ref().and_then(WidgetFiles::warning) {
            tracing::warn!("{warning}");
        }
        Ok(Self {
            guard: Arc::new(Guard::new(&captcha.auth, service.ledger().clock())?),
            service,
            body_limits: BodyLimits { bytes, time: server.body_timeout, key: Some(key) },
            limiter: RateLimiter::new().map_err(SetupError::Random)?,
            guesses: SecretGuesses::new().map_err(SetupError::Random)?,
            answers: siteverify::Answers::default(),
            widget_files,
            path_prefix: path_prefix.to_owned(),
        })
    }
}

/// The routes under `/api/v1/captcha`; other paths are left to whoever merges or nests this router.
///
/// Requests must carry [`Client`](bulkhead_http::forwarded::Client) as an extension.
pub fn router(state: CaptchaState) -> Router {
    let state = Arc::new(state);
    let routes = Router::new()
        .merge(backend::router(&state))
        .merge(widget::router())
        .merge(widget_files::router())
        .merge(siteverify::router())
        .route("/", any(unknown))
        .route("/{*rest}", any(unknown))
        .method_not_allowed_fallback(wrong_method);
    let routes = Router::new().nest(BASE, routes).route(&format!("{BASE}/"), any(unknown));
    forwarded::refuse_contradictions(routes, contradiction)
        .layer(middleware::from_fn_with_state(state.clone(), finish))
        .with_state(state)
}

async fn unknown() -> ApiError {
    ApiError::not_found()
}

fn contradiction(_: &Uri) -> Response {
    ApiError::bad_request(Contradicting::CODE, Contradicting::MESSAGE).into_response()
}

async fn wrong_method() -> ApiError {
    let message = "the path does not take this method; see the header allow";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", message)
}

/// A route whose GET changes something: axum would answer HEAD with it, and so it takes nothing but what `allow` lists.
fn without_head(
    route: MethodRouter<Arc<CaptchaState>>,
    allow: &'static str,
) -> MethodRouter<Arc<CaptchaState>> {
    let refuse = move || async move { ([(header::ALLOW, allow)], wrong_method().await) };
    route.head(refuse).fallback(refuse)
}

/// Writes errors out, counts the client's faults, and forbids caching.
async fn finish(State(state): State<Arc<CaptchaState>>, request: Request, next: Next) -> Response {
    let path = format!("{}{}", state.path_prefix, request.uri().path());
    let mut response = next.run(request).await;
    let mut served = Served { service: "captcha", error: None };
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        match error.status {
            StatusCode::BAD_REQUEST => state.service.count_rejected_request(RejectedRequest::BadRequest),
            StatusCode::UNAUTHORIZED => {
                state.service.count_rejected_request(RejectedRequest::Unauthorized);
            }
            _ => {}
        }
        served.error = error.status.is_server_error().then_some(error.code);
        response = error.write(response, &path, SystemTime::now());
    }
    response.extensions_mut().insert(served);
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NEVER_CACHED);
    response
}
