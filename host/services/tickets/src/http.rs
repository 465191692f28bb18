//! The HTTP routes of the ticket service under `/api/v1`: triage and answers.

mod answer;
mod auth;
mod error;
mod observe;
mod openapi;
pub mod request;
mod session;
mod triage;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Request, State},
    http::Uri,
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use bulkhead_config::server::Server;
use bulkhead_http::{body::BodyLimits, docs, forwarded, middleware};
use bulkhead_runtime::api_keys::ApiKeys;
use serde_json::{Value, json};

use self::{error::TicketApiError, observe::TicketAsked};
use crate::answer::AnswerService;
use crate::triage::TriageService;
use crate::{config::TicketSettings, metrics::TicketMetrics};

/// The service's name in logs.
pub const SERVICE: &str = "tickets";

const TRIAGE: &str = "/api/v1/triage";
const ANSWER: &str = "/api/v1/answer";
const HEALTH: &str = "/api/v1/health";
const PROMPT_VERSIONS: &str = "/api/v1/prompt_versions";
/// The path of unknown routes.
const REST: &str = "/api/v1/{*rest}";

/// The state of the routes.
#[derive(Debug)]
pub struct TicketState {
    /// The triage service.
    pub triage: TriageService,
    /// The answer service.
    pub answer: AnswerService,
    /// Keys of callers; empty: everybody may call.
    pub keys: ApiKeys,
    /// Limits of a request body.
    pub body_limits: BodyLimits,
    /// Prefix of every path: empty or `/something`.
    pub path_prefix: String,
    /// Metrics of the requests.
    pub metrics: Arc<TicketMetrics>,
}

impl TicketState {
    /// Creates the state from the configuration.
    pub fn new(
        triage: TriageService,
        answer: AnswerService,
        settings: &TicketSettings,
        server: &Server,
        path_prefix: &str,
        metrics: Arc<TicketMetrics>,
    ) -> Self {
        Self {
            triage,
            answer,
            keys: ApiKeys::new(settings.api_key.iter().map(|key| key.expose())),
            body_limits: BodyLimits {
                bytes: settings.body_bytes,
                time: server.body_timeout,
                key: Some("tickets.body_bytes"),
            },
            path_prefix: path_prefix.to_owned(),
            metrics,
        }
    }
}

/// Returns all routes. Other paths are left to the router that merges or nests this one.
pub fn router(state: Arc<TicketState>) -> Router {
    let refused = {
        let state = Arc::clone(&state);
        move |request: &mut Request| auth::refusal(&state, request.headers())
    };
    let guarded = Router::new().route(TRIAGE, post(triage::triage)).route(ANSWER, post(answer::answer));
    let guarded = middleware::check_requests(guarded, refused);
    let public = Router::new()
        .route(HEALTH, get(health))
        .route(PROMPT_VERSIONS, get(triage::prompt_versions))
        .route("/api/openapi.json", get(openapi::document))
        .merge(docs::router("/api/docs"))
        .route(REST, any(async || TicketApiError::NOT_FOUND));
    let routes =
        guarded.merge(public).method_not_allowed_fallback(async || TicketApiError::METHOD_NOT_ALLOWED);
    let counted = {
        let state = Arc::clone(&state);
        move |asked: TicketAsked, response: Response| observe::count(&state, &asked, response)
    };
    let check = forwarded::contradiction_check(contradiction);
    middleware::check_and_change(routes, check, TicketAsked::of, counted).with_state(state)
}

/// Answers a request whose forwarding headers contradict each other.
fn contradiction(_: &Uri) -> Response {
    TicketApiError::contradicting_forwarded().into_response()
}

/// Answers `GET /api/v1/health` while the service runs.
async fn health(State(_): State<Arc<TicketState>>) -> Json<Value> {
    Json(json!({ "status": "healthy" }))
}
