//! The HTTP routes of the captcha service: the paths of captchaservice 2.x, those of the widget, and `siteverify`.
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
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, any},
};
use bulkhead_config::server::Server;
use bulkhead_http::{
    access_log::Served,
    body::BodyLimits,
    forwarded::{self, Contradicting},
    middleware,
    rate_limit::RateLimiter,
};
use thiserror::Error;

use self::{error::CaptchaApiError, secret_guesses::SecretGuesses};
use crate::{CaptchaService, RejectedRequest, config::Captcha};

pub use self::auth::{AuthError, Guard};
pub use self::widget_files::{WidgetFiles, WidgetFilesError};

/// The prefix of the service's paths. Part of each route's path: a router that is nested rewrites the URI of each request.
const BASE: &str = "/api/v1/captcha";

/// The `Cache-Control` of every answer.
const NEVER_CACHED: HeaderValue = HeaderValue::from_static("no-cache, no-store, must-revalidate");

/// Why the routes cannot be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The guard cannot be set up.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The widget's files cannot be served.
    #[error(transparent)]
    WidgetFiles(#[from] WidgetFilesError),
    /// The operating system returned no random bytes.
    #[error("cannot draw a random key for rate limits: {0}")]
    Random(getrandom::Error),
}

/// The state that the routes share.
pub struct CaptchaState {
    /// The service behind the routes.
    pub service: Arc<CaptchaService>,
    /// Guards the back-end endpoints.
    pub guard: Arc<Guard>,
    /// Limits of a request body.
    pub body_limits: BodyLimits,
    /// Limits the calls of the widget endpoints per client.
    pub limiter: RateLimiter,
    /// Limits wrong secrets at `siteverify`.
    pub guesses: SecretGuesses,
    /// Answers of `siteverify` by idempotency key.
    pub answers: siteverify::SiteverifyAnswers,
    /// The widget's files; `None` without `captcha.widget_dir`.
    pub widget_files: Option<WidgetFiles>,
    /// The prefix of every path in error bodies: empty or like `/captcha`.
    pub path_prefix: String,
}

impl CaptchaState {
    /// Returns the state for a configuration.
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
            answers: siteverify::SiteverifyAnswers::default(),
            widget_files,
            path_prefix: path_prefix.to_owned(),
        })
    }
}

/// Returns the routes under `/api/v1/captcha`, for merging or nesting into another router.
///
/// Requests must carry [`Client`](bulkhead_http::forwarded::Client) as an extension.
pub fn router(state: CaptchaState) -> Router {
    let state = Arc::new(state);
    let routes = Router::new()
        .merge(backend::router(&state))
        .merge(widget::router())
        .merge(widget_files::router())
        .merge(siteverify::router())
        .route(BASE, any(unknown))
        .route(&format!("{BASE}/"), any(unknown))
        .route(&format!("{BASE}/{{*rest}}"), any(unknown))
        .method_not_allowed_fallback(wrong_method);
    let finished = {
        let state = Arc::clone(&state);
        move |uri: Uri, response: Response| finish(&state, &uri, response)
    };
    let check = forwarded::contradiction_check(contradiction);
    middleware::check_and_change(routes, check, |request| request.uri().clone(), finished).with_state(state)
}

async fn unknown() -> CaptchaApiError {
    CaptchaApiError::not_found()
}

fn contradiction(_: &Uri) -> Response {
    CaptchaApiError::bad_request(Contradicting::CODE, Contradicting::MESSAGE).into_response()
}

async fn wrong_method() -> CaptchaApiError {
    let message = "the path does not take this method; see the header allow";
    CaptchaApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", message)
}

/// Refuses HEAD, which axum would answer with GET, for a route whose GET changes something. The route accepts only the
/// methods in `allow`.
fn without_head(
    route: MethodRouter<Arc<CaptchaState>>,
    allow: &'static str,
) -> MethodRouter<Arc<CaptchaState>> {
    let refuse = move || async move { ([(header::ALLOW, allow)], wrong_method().await) };
    route.head(refuse).fallback(refuse)
}

/// Writes the bodies of errors, counts client errors, and forbids caching.
fn finish(state: &CaptchaState, uri: &Uri, mut response: Response) -> Response {
    let mut served = Served { service: "captcha", error: None };
    if let Some(error) = response.extensions_mut().remove::<CaptchaApiError>() {
        match error.status {
            StatusCode::BAD_REQUEST => state.service.count_rejected_request(RejectedRequest::BadRequest),
            StatusCode::UNAUTHORIZED => {
                state.service.count_rejected_request(RejectedRequest::Unauthorized);
            }
            _ => {}
        }
        served.error = error.status.is_server_error().then_some(error.code);
        let path = format!("{}{}", state.path_prefix, uri.path());
        response = error.write(response, &path, SystemTime::now());
    }
    response.extensions_mut().insert(served);
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NEVER_CACHED);
    response
}
