//! `/v1`: what operators do with slots and their versions. Answers are JSON, errors have one shape ([`error`]), and
//! everything but the description asks for a bearer token.

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
use bulkhead_http::body::BodyLimits;
use bulkhead_rollout::registry::Registries;
use bulkhead_rollout::{Deploy, DeploymentRegistry, Reloader};
use bulkhead_telemetry::Metrics;
use tokio::{runtime::Handle, sync::Semaphore};

use self::{access::Access, error::ApiError, jobs::Jobs, statistics::Recorder};
use super::refusals::Refusals;

/// Components received at once, each held in memory.
const UPLOADS: usize = 2;
/// Components pulled at once, beside those: a registry that hangs keeps nobody from sending a file.
const PULLS: usize = 2;
/// Components given out at once, each held in memory.
const EXPORTS: usize = 2;
/// Time that a component may take to arrive.
const UPLOAD_TIME: Duration = Duration::from_secs(300);
/// A change's body: a version, a number and a sentence.
const CHANGE: BodyLimits = BodyLimits { bytes: 16 << 10, time: Duration::from_secs(10), key: None };

/// What operators operate on.
#[derive(Clone, Debug)]
pub struct Operators {
    /// The slots.
    pub deployments: Arc<DeploymentRegistry>,
    /// The configuration, for reading it anew.
    pub reloader: Arc<Reloader>,
    /// Where slots live: work on them must not hold up the operators' own thread.
    pub runtime: Handle,
    /// Where components may be pulled from.
    pub registries: Arc<Registries>,
    /// Largest component that is taken, bytes.
    pub component_bytes: usize,
    /// Their figures.
    pub metrics: Arc<Metrics>,
}

/// What handlers share.
struct Api {
    operators: Operators,
    access: Access,
    recorder: Arc<Recorder>,
    uploads: Arc<Semaphore>,
    pulls: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    jobs: Jobs,
}

impl Api {
    fn slot(&self, name: &str) -> Result<Arc<dyn Deploy>, ApiError> {
        let deployments = &self.operators.deployments;
        deployments.get(name).ok_or_else(|| {
            if deployments.is_pending(name) {
                ApiError::starting()
            } else {
                ApiError::unknown_slot(deployments)
            }
        })
    }

    fn component(&self) -> BodyLimits {
        let key = Some("sandbox.component_bytes");
        BodyLimits { bytes: self.operators.component_bytes, time: UPLOAD_TIME, key }
    }
}

/// The routes, each behind the scope that it asks for.
pub(super) fn router(operators: Operators, refusals: Arc<Refusals>) -> Router {
    let access = Access::new(operators.reloader.tokens(), refusals);
    let recorder = Arc::new(Recorder::new(Arc::clone(&operators.metrics)));
    operators.runtime.spawn(statistics::record(Arc::downgrade(&recorder)));
    let [uploads, pulls, exports] =
        [UPLOADS, PULLS, EXPORTS].map(|permits| Arc::new(Semaphore::new(permits)));
    let api = Arc::new(Api { operators, access, recorder, uploads, pulls, exports, jobs: Jobs::default() });
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
        .with_state(api)
        .layer((map_response(never_kept), refuse_token_in_url))
}

async fn never_kept(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The route's pattern, for log lines: a path may hold anything.
fn pattern(request: &Request) -> String {
    request.extensions().get::<MatchedPath>().map_or_else(String::new, |path| path.as_str().to_owned())
}
