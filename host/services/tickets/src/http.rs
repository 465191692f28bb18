//! The ticket service's HTTP surface under `/api/v1`: triage and answers.

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
    extract::State,
    http::Uri,
    middleware,
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use bulkhead_config::server::Server;
use bulkhead_http::{body::BodyLimits, docs, forwarded};
use bulkhead_runtime::keys::ApiKeys;
use serde_json::{Value, json};

use self::error::ApiError;
use crate::answer::AnswerService;
use crate::triage::TriageService;
use crate::{config::Tickets, metrics::TicketMetrics};

/// The service's name in logs.
pub const SERVICE: &str = "tickets";

const TRIAGE: &str = "/api/v1/triage";
const ANSWER: &str = "/api/v1/answer";
const HEALTH: &str = "/api/v1/health";
const PROMPT_VERSIONS: &str = "/api/v1/prompt_versions";
/// What is none of these.
const REST: &str = "/api/v1/{*rest}";

/// What the routes work with.
#[derive(Debug)]
pub struct TicketState {
    /// What decides.
    pub triage: TriageService,
    /// What answers.
    pub answer: AnswerService,
    /// Who may call; empty: everybody.
    pub keys: ApiKeys,
    /// What a request body may cost.
    pub body_limits: BodyLimits,
    /// Stands before every path: empty or `/something`.
    pub path_prefix: String,
    /// Where requests are counted.
    pub metrics: Arc<TicketMetrics>,
}

impl TicketState {
    /// A state as configured.
    pub fn new(
        triage: TriageService,
        answer: AnswerService,
        settings: &Tickets,
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

/// All routes; other paths are left to whoever merges or nests this router.
pub fn router(state: Arc<TicketState>) -> Router {
    let guarded = Router::new()
        .route(TRIAGE, post(triage::triage))
        .route(ANSWER, post(answer::answer))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), auth::admit));
    let public = Router::new()
        .route(HEALTH, get(health))
        .route(PROMPT_VERSIONS, get(triage::prompt_versions))
        .route("/api/openapi.json", get(openapi::document))
        .merge(docs::router("/api/docs"))
        .route(REST, any(async || ApiError::NOT_FOUND));
    let routes = guarded.merge(public).method_not_allowed_fallback(async || ApiError::METHOD_NOT_ALLOWED);
    forwarded::refuse_contradictions(routes, contradiction)
        .layer(middleware::from_fn_with_state(Arc::clone(&state), observe::count))
        .with_state(state)
}

fn contradiction(_: &Uri) -> Response {
    ApiError::contradicting_forwarded().into_response()
}

/// `GET /api/v1/health`: for as long as the service runs.
async fn health(State(_): State<Arc<TicketState>>) -> Json<Value> {
    Json(json!({ "status": "healthy" }))
}
