//! `/actuator`: health, application information and metrics in the shapes of Spring Boot, so that probes, scrapers and
//! dashboards of the replaced captcha service keep working.
//!
//! Paths, media types and members: Spring Boot 4's "Actuator REST API", read-only. An endpoint that is not exposed
//! answers 404.

mod health;
mod info;
mod media;
mod meters;
mod metrics;
mod problem;

use std::{fmt, pin::Pin, sync::Arc};

use axum::{
    Router,
    handler::Handler,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header::CACHE_CONTROL},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, any, get},
};
use bulkhead_http::{
    access_log::Served,
    forwarded::{self, Contradicting},
    middleware,
};
use bulkhead_telemetry::Metrics;

use self::problem::ActuatorProblem;
use crate::config::management::{Endpoint, Management};

pub use health::{HealthComponent, HealthSource, HealthStatus};
pub use info::Application;

/// The `Cache-Control` of every answer, as the replaced service sets it.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-cache, no-store, must-revalidate");

/// Checks by a request's headers whether its sender may see details.
pub type Authorized = Arc<dyn Fn(&HeaderMap) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// The state of the endpoints.
#[derive(Clone)]
pub struct ActuatorState {
    /// The host's metrics.
    pub metrics: Arc<Metrics>,
    /// The exposed endpoints, and their listener.
    pub management: Management,
    /// The host's health.
    pub health: Arc<dyn HealthSource>,
    /// Decides about details with `show-details=when-authorized`.
    pub authorized: Authorized,
    /// The application in `/actuator/info`.
    pub application: Application,
}

impl fmt::Debug for ActuatorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActuatorState").field("management", &self.management).finish_non_exhaustive()
    }
}

impl ActuatorState {
    fn exposes(&self, endpoint: Endpoint) -> bool {
        self.management.exposed.contains(&endpoint)
    }

    /// Returns the base path without a trailing slash; empty for the root.
    fn base(&self) -> &str {
        self.management.base_path.trim_end_matches('/')
    }
}

/// Returns the endpoints at their full paths, for merging into a listener's router. Unless the base path is the root,
/// other paths below it answer 404.
pub fn router(state: ActuatorState) -> Router {
    let base = state.base().to_owned();
    let mut router: Router<Arc<ActuatorState>> = Router::new();
    if !base.is_empty() {
        let links = !state.management.exposed.is_empty();
        router = router
            .route(&base, if links { reads(info::links) } else { any(problem::not_found) })
            .route(&format!("{base}/"), any(problem::not_found))
            .route(&format!("{base}/{{*path}}"), any(problem::not_found));
    }
    if state.exposes(Endpoint::Health) {
        router = router
            .route(&format!("{base}/health"), reads(health::all))
            .route(&format!("{base}/health/{{component}}"), reads(health::component));
    }
    if state.exposes(Endpoint::Info) {
        router = router.route(&format!("{base}/info"), reads(info::info));
    }
    if state.exposes(Endpoint::Metrics) {
        router = router
            .route(&format!("{base}/metrics"), reads(metrics::list))
            .route(&format!("{base}/metrics/{{name}}"), reads(metrics::one));
    }
    for (endpoint, path) in [(Endpoint::Scrape, "scrape"), (Endpoint::Prometheus, "prometheus")] {
        if state.exposes(endpoint) {
            router = router.route(&format!("{base}/{path}"), reads(metrics::scrape));
        }
    }
    finished(router, state)
}

/// Returns the probes `/livez` and `/readyz`, which are always on the service's own listener; none unless health is
/// exposed.
pub fn probes(state: ActuatorState) -> Router {
    let mut router = Router::new();
    if state.exposes(Endpoint::Health) {
        router = router.route("/livez", reads(health::livez)).route("/readyz", reads(health::readyz));
    }
    finished(router, state)
}

fn finished(router: Router<Arc<ActuatorState>>, state: ActuatorState) -> Router {
    let check = forwarded::contradiction_check(contradiction);
    middleware::check_and_change(router, check, |_| (), |(), response: Response| no_store(response))
        .with_state(Arc::new(state))
}

fn contradiction(uri: &Uri) -> Response {
    ActuatorProblem::new(StatusCode::BAD_REQUEST, Contradicting::CODE, Contradicting::MESSAGE, uri)
        .into_response()
}

/// Routes GET and HEAD to a handler; other methods answer 405.
fn reads<H, T>(handler: H) -> MethodRouter<Arc<ActuatorState>>
where
    H: Handler<T, Arc<ActuatorState>>,
    T: 'static,
{
    get(handler).fallback(problem::method_not_allowed)
}

fn no_store(mut response: Response) -> Response {
    response.headers_mut().entry(CACHE_CONTROL).or_insert(NO_STORE);
    response.extensions_mut().insert(Served { service: "actuator", error: None });
    response
}

#[cfg(test)]
mod tests;
