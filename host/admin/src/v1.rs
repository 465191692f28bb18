//! `/v1`: the API that operates slots and their versions. Answers are JSON, errors have one shape ([`error`]), and
//! every route but the OpenAPI description and the page that shows it requires a bearer token.

mod access;
mod changes;
mod configuration;
mod error;
mod export;
mod jobs;
mod members;
mod openapi;
mod slots;
mod statistics;
mod upload;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{MatchedPath, Request},
    http::{HeaderValue, header::CACHE_CONTROL},
    middleware::{from_fn_with_state, map_response},
    response::Response,
    routing::{get, post},
};
use bulkhead_config::tokens::Scope;
use bulkhead_http::{body::BodyLimits, docs};
use bulkhead_registry::Registries;
use bulkhead_rollout::{Deploy, DeploymentRegistry, Reloader};
use bulkhead_telemetry::Metrics;
use tokio::{runtime::Handle, sync::Semaphore};

use self::{access::Authorizer, error::AdminApiError, jobs::PushJobs, statistics::StatisticsRecorder};
use super::refusals::RefusalLog;

/// Most components received at once; each is held in memory.
const UPLOADS: usize = 2;
/// Most components pulled at once, counted apart from uploads: a registry that hangs must not block them.
const PULLS: usize = 2;
/// Most components sent at once; each is held in memory.
const EXPORTS: usize = 2;
/// Most jobs that are kept: those that run, of which there are few, and the last ones that have ended.
const MAX_JOBS: usize = 32;
/// Timeout of an upload.
const UPLOAD_TIME: Duration = Duration::from_secs(300);
/// Limits of a change's body: a version, a number and a sentence.
const CHANGE_LIMITS: BodyLimits = BodyLimits { bytes: 16 << 10, time: Duration::from_secs(10), key: None };

/// What the API operates on.
#[derive(Clone, Debug)]
pub struct OperatorContext {
    /// The slots.
    pub deployments: Arc<DeploymentRegistry>,
    /// Reloads the configuration.
    pub reloader: Arc<Reloader>,
    /// The runtime of the slots: work on them must not block the admin thread.
    pub runtime: Handle,
    /// The registries from which components may be pulled.
    pub registries: Arc<Registries>,
    /// Size of the largest component that is accepted, bytes.
    pub component_bytes: usize,
    /// The metrics of the slots.
    pub metrics: Arc<Metrics>,
}

/// The state that handlers share.
struct Api {
    operators: OperatorContext,
    authorizer: Authorizer,
    recorder: Arc<StatisticsRecorder>,
    uploads: Arc<Semaphore>,
    pulls: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    jobs: PushJobs,
}

impl Api {
    /// Returns the deployment of a slot.
    fn slot(&self, name: &str) -> Result<Arc<dyn Deploy>, AdminApiError> {
        let deployments = &self.operators.deployments;
        deployments.get(name).ok_or_else(|| {
            if deployments.is_pending(name) {
                AdminApiError::starting()
            } else {
                AdminApiError::unknown_slot(deployments, name)
            }
        })
    }

    /// Returns the limits of an uploaded component.
    fn component_limits(&self) -> BodyLimits {
        let key = Some("sandbox.component_bytes");
        BodyLimits { bytes: self.operators.component_bytes, time: UPLOAD_TIME, key }
    }
}

/// Returns the routes, each guarded by its scope.
pub(super) fn router(operators: OperatorContext, refusals: Arc<RefusalLog>) -> Router {
    let authorizer = Authorizer::new(operators.reloader.tokens(), refusals);
    let recorder = Arc::new(StatisticsRecorder::new(Arc::clone(&operators.metrics)));
    operators.runtime.spawn(statistics::record(Arc::downgrade(&recorder)));
    let [uploads, pulls, exports] =
        [UPLOADS, PULLS, EXPORTS].map(|permits| Arc::new(Semaphore::new(permits)));
    let api =
        Arc::new(Api { operators, authorizer, recorder, uploads, pulls, exports, jobs: PushJobs::default() });
    let guarded = |scope: Scope, router: Router<Arc<Api>>| {
        router.route_layer(from_fn_with_state((Arc::clone(&api), scope), access::admit))
    };
    let read = Router::new()
        .route("/v1/token", get(access::token))
        .route("/v1/config", get(configuration::show))
        .route("/v1/slots", get(slots::list))
        .route("/v1/slots/{slot}", get(slots::show))
        .route("/v1/slots/{slot}/shadow", get(slots::shadow))
        .route("/v1/slots/{slot}/diff", get(slots::diff))
        .route("/v1/slots/{slot}/history", get(slots::history))
        .route("/v1/slots/{slot}/logs", get(slots::logs))
        .route("/v1/slots/{slot}/statistics", get(statistics::show));
    let deploy = Router::new()
        .route("/v1/jobs/{job}", get(jobs::show))
        .route("/v1/slots/{slot}/versions", post(upload::push))
        .route("/v1/slots/{slot}/versions/{version}/component", get(export::component))
        .route("/v1/slots/{slot}/swap", post(changes::swap))
        .route("/v1/slots/{slot}/canary", post(changes::canary))
        .route("/v1/slots/{slot}/shadow", post(changes::shadow))
        .route("/v1/slots/{slot}/promote", post(changes::promote))
        .route("/v1/slots/{slot}/rollback", post(changes::rollback));
    let admin = Router::new()
        .route("/v1/audit", get(slots::audit))
        .route("/v1/config/trial", post(configuration::trial))
        .route("/v1/config/reload", post(configuration::reload))
        .route("/v1/config/undo", post(configuration::undo));
    let refuse_token_in_url = from_fn_with_state(Arc::clone(&api), access::refuse_token_in_url);
    guarded(Scope::Read, read)
        .merge(guarded(Scope::Deploy, deploy))
        .merge(guarded(Scope::Admin, admin))
        .route("/v1/openapi.json", get(openapi::document))
        .merge(docs::router("/v1/docs"))
        .with_state(api)
        .layer((map_response(forbid_caching), refuse_token_in_url))
}

/// Forbids caching.
async fn forbid_caching(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the pattern of the route, for log lines: the path is text of the client.
fn pattern(request: &Request) -> String {
    request.extensions().get::<MatchedPath>().map_or_else(String::new, |path| path.as_str().to_owned())
}
