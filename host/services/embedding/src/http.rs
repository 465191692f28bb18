//! The embedding service's HTTP surface: text-embeddings-inference's paths, OpenAI's, and the service's own health,
//! metrics and documentation.

mod auth;
mod cors;
pub mod error;
mod error_form;
mod floats;
mod health;
mod model_run;
mod model_type;
mod observe;
mod openai;
mod openapi;
mod predict;
mod request;
mod rerank;
mod similarity;
mod tei;
mod token_memory;
mod token_outputs;
mod work;

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, Uri},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use bulkhead_config::server::Server;
use bulkhead_http::{body::BodyLimits, docs, error::HostError, forwarded, middleware, path};
use bulkhead_models::{
    ServedModel,
    config::{EmbeddingSettings, ErrorForm, NamedModels, NormalizeBy},
};
use bulkhead_sources::catalog;
use bulkhead_telemetry::Metrics;

pub(crate) use self::request::{EmbedInputs, OpenAiInputs};
use self::{error::EmbeddingApiError, observe::EmbeddingAsked, token_memory::TokenMemory};
use crate::{
    EmbeddingService,
    callers::Callers,
    metrics::{EmbeddingMetrics, TeiMetrics},
};

/// The state of the routes.
pub struct EmbeddingState {
    /// The service behind the routes.
    pub service: EmbeddingService,
    /// Who may call.
    pub callers: Callers,
    /// Limits of a request body.
    pub body_limits: BodyLimits,
    /// Prefix of every path: empty or `/something`.
    pub path_prefix: String,
    /// `owned_by` of every model.
    pub model_owner: String,
    /// What `error` holds outside OpenAI's routes.
    pub error_form: ErrorForm,
    /// Whether texts that are too long are cut unless a call says otherwise.
    pub auto_truncate: bool,
    /// Which models a body may name.
    pub model_names: NamedModels,
    /// Whether bodies in the shape of OpenAI may have token ids.
    pub token_ids: bool,
    /// Which vectors are scaled to length 1 unless a call says otherwise.
    pub normalize: NormalizeBy,
    /// Origins of pages that may call from a browser; `*`: all.
    pub cors_origins: Vec<HeaderValue>,
    /// The metrics of the host, for the metrics page.
    pub metrics: Arc<Metrics>,
    /// Metrics of the requests.
    pub request_metrics: Arc<EmbeddingMetrics>,
    /// The same under the names of text-embeddings-inference.
    pub tei_metrics: Arc<TeiMetrics>,
    /// The memory of answers with tokens, their vectors or terms.
    pub token_memory: TokenMemory,
    /// Most terms of a text in an answer, on average.
    pub terms_per_text: usize,
}

impl EmbeddingState {
    /// Creates the state from the configuration.
    pub fn new(
        service: EmbeddingService,
        settings: &EmbeddingSettings,
        server: &Server,
        path_prefix: &str,
        metrics: Arc<Metrics>,
        (request_metrics, tei_metrics): (Arc<EmbeddingMetrics>, Arc<TeiMetrics>),
    ) -> Self {
        Self {
            service,
            callers: Callers::new(settings),
            body_limits: BodyLimits {
                bytes: settings.body_bytes,
                time: server.body_timeout,
                key: Some("embedding.body_bytes"),
            },
            path_prefix: path_prefix.to_owned(),
            model_owner: settings.model_owner.clone(),
            error_form: settings.error_form,
            auto_truncate: settings.auto_truncate,
            model_names: settings.model_names,
            token_ids: settings.token_ids,
            normalize: settings.normalize,
            cors_origins: settings.cors_origins.clone(),
            metrics,
            request_metrics,
            tei_metrics,
            token_memory: TokenMemory::new(settings.token_output_bytes),
            terms_per_text: settings.terms_per_text,
        }
    }

    /// Returns the default model.
    ///
    /// # Errors
    /// 503 with a remedy when it is not loaded.
    fn default_model(&self) -> Result<&ServedModel, EmbeddingApiError> {
        self.service.inference.default_model().ok_or_else(|| {
            let id = self.service.inference.default_id();
            let missing = self.service.inference.missing().iter().find(|model| model.id == id);
            let remedy = missing.map_or("see --default-model", |model| model.remedy.as_str());
            EmbeddingApiError::unavailable(format!("the default model `{id}` is not loaded; {remedy}"))
        })
    }

    /// Returns the model that a body names.
    fn model_named(&self, id: &str) -> Result<&ServedModel, EmbeddingApiError> {
        let inference = &self.service.inference;
        if self.model_names == NamedModels::Any && inference.by_id(id).is_none() {
            return self.default_model();
        }
        inference.by_id(id).ok_or_else(|| EmbeddingApiError::unknown_model(id, self.repack_of(id)))
    }

    /// Returns the id of a loaded re-pack of the model `id`.
    fn repack_of(&self, id: &str) -> Option<&str> {
        let known = catalog::repack_of(id)?;
        self.service.inference.by_id(known.id).map(|model| model.id.as_str())
    }

    /// Returns whether vectors of `model` are scaled to length 1 where a call asks for `asked`; `None` leaves it to the model.
    fn normalized(&self, model: &ServedModel, asked: Option<bool>) -> Option<bool> {
        let always = model.model.is_encoder() || self.normalize == NormalizeBy::Always;
        asked.or(always.then_some(true))
    }

    /// Returns the model of `/tei/{model_id}`.
    fn model_at(&self, segment: &str) -> Result<&ServedModel, EmbeddingApiError> {
        self.service.inference.by_path_name(segment).ok_or_else(|| EmbeddingApiError::no_such_path(segment))
    }
}

/// Answers a request whose forwarding headers contradict each other.
fn contradiction(_: &Uri) -> Response {
    EmbeddingApiError::contradicting_forwarded().into_response()
}

/// Returns the routes that rank, classify and compare texts, and those that give what tokens have.
fn scores() -> Router<Arc<EmbeddingState>> {
    let below = |path: &str| {
        Router::new()
            .route(&format!("{path}/rerank"), post(rerank::rerank))
            .route(&format!("{path}/v1/rerank"), post(rerank::rerank))
            .route(&format!("{path}/v2/rerank"), post(rerank::rerank))
            .route(&format!("{path}/predict"), post(predict::predict))
            .route(&format!("{path}/similarity"), post(similarity::similarity))
            .route(&format!("{path}/embed_all"), post(token_outputs::embed_all))
            .route(&format!("{path}/embed_sparse"), post(token_outputs::embed_sparse))
    };
    below("").merge(below("/tei/{model_id}"))
}

/// Returns all routes. Other paths are left to the router that merges or nests this one.
pub fn router(state: Arc<EmbeddingState>) -> Router {
    let guarded = Router::new()
        .route("/", post(tei::embed))
        .route("/embed", post(tei::embed))
        .route("/info", get(tei::info))
        .route("/tokenize", post(tei::tokenize))
        .route("/v1/embeddings", post(openai::embeddings))
        .route("/embeddings", post(openai::embeddings))
        .route("/v1/models", get(openai::models))
        .route("/v1/models/{*id}", get(openai::model))
        .route("/tei/{model_id}", post(tei::embed_with))
        .route("/tei/{model_id}/embed", post(tei::embed_with))
        .route("/tei/{model_id}/info", get(tei::info_of))
        .route("/tei/{model_id}/tokenize", post(tei::tokenize_with))
        .route("/tei/{model_id}/v1/embeddings", post(openai::embeddings_with))
        .route("/tei/{model_id}/embeddings", post(openai::embeddings_with))
        .merge(scores())
        .method_not_allowed_fallback(async || HostError::METHOD_NOT_ALLOWED);
    let admitted = {
        let state = Arc::clone(&state);
        move |request: &mut Request| auth::admit(&state, request)
    };
    let guarded = middleware::check_requests(guarded, admitted);
    let public = Router::new()
        .route("/health", get(health::health))
        .route("/ping", get(health::health))
        .route("/ready", get(health::ready))
        .route("/metrics", get(observe::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/api-doc/openapi.json", get(openapi::document))
        .merge(docs::router("/docs"))
        // Pages of other origins can read a 404 or a 405 only with CORS headers.
        .route("/v1/{*rest}", any(async || HostError::NOT_FOUND))
        .route("/tei/{model_id}/{*rest}", any(async || HostError::NOT_FOUND))
        .method_not_allowed_fallback(async || HostError::METHOD_NOT_ALLOWED);
    let routes = guarded.merge(public).route("/", get(health::health));
    let contradicts = forwarded::contradiction_check(contradiction);
    let checked =
        move |request: &mut Request| contradicts(request).or_else(|| path::refuse_unreadable(request));
    let routes = cors::with_cors(middleware::check_requests(routes, checked), &state.cors_origins);
    let finished = {
        let state = Arc::clone(&state);
        move |(asked, is_openai): (EmbeddingAsked, bool), response: Response| {
            observe::count(&state, &asked, error_form::shape(&state, is_openai, response))
        }
    };
    let noted =
        |request: &Request| (EmbeddingAsked::of(request), error_form::is_openai(request.uri().path()));
    middleware::check_and_change(routes, |_| None, noted, finished).with_state(state)
}
