//! The operators' listener: health, metrics, the API under `/v1`, and the console.
//!
//! It runs on its own operating-system thread with its own runtime, so that guests that block the workers cannot block
//! it. The callbacks that it calls must not block either.

mod console;
mod health;
mod hosts;
mod metrics;
mod refusals;
mod v1;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use axum::{
    Json, Router,
    http::header::CONTENT_LENGTH,
    middleware::{from_fn, from_fn_with_state, map_response},
    response::{IntoResponse as _, Response},
    routing::get,
};
use bulkhead_http::{
    accept::{self, ConnectionObserver, ConnectionSettings},
    connection_limit::ConnectionLimit,
    error, head_fields,
    heartbeat::Heartbeat,
    host_field, layers,
    lifecycle::{Drain, Lifecycle},
    listen::{self, BoundListener, ListenError},
    middleware::check_requests,
    path,
    tls::{Certificates, TlsError},
};
use bulkhead_service::ReadyReport;
use serde_json::json;
use tokio::runtime;
use tower_http::catch_panic::CatchPanicLayer;

use self::{hosts::AllowedHosts, refusals::RefusalLog};

pub use self::v1::OperatorContext;

/// The configuration key of the listener's address.
const SETTING: &str = "server.admin_listen";
/// Most open connections: a few probes and scrapers.
const CONNECTIONS: usize = 64;
/// Most open connections from one address that is not loopback.
const CONNECTIONS_PER_ADDRESS: usize = 32;
/// Timeout of a request head: probes send it at once.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout between requests: longer than the usual scrape interval.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Time for requests in flight once the host has stopped; `host/rollout/README.md` names it.
const DRAIN: Duration = Duration::from_secs(1);

/// Writes all metrics: from the value of `Accept` to content type and body.
pub type Exposition = dyn Fn(Option<&str>) -> (&'static str, String) + Send + Sync;

/// What the listener reads its answers from. Every request calls these on the admin thread, so they must not block.
#[derive(Clone)]
pub struct AdminSources {
    /// Reports whether the host is ready, and if not, why.
    pub ready: Arc<dyn Fn() -> ReadyReport + Send + Sync>,
    /// Returns content type and body of `/metrics`.
    pub metrics: Arc<Exposition>,
    /// Counts connections.
    pub connections: Arc<dyn ConnectionObserver>,
    /// What `/v1` operates on; `None` serves neither `/v1` nor the console.
    pub operators: Option<OperatorContext>,
}

/// Why the operators' listener cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Other machines could reach it without encryption.
    #[error(
        "`{SETTING}` is {0}, which others can reach without encryption: set `admin.tls`, use a loopback \
         address, or accept the risk with `admin.allow_remote = true`"
    )]
    Exposed(SocketAddr),
    /// The address cannot be bound.
    #[error("{0}")]
    Listen(ListenError),
    /// The certificate cannot be used.
    #[error("`admin.tls`: {0}")]
    Tls(TlsError),
    /// The operating system refused a thread or an event queue.
    #[error("cannot start the admin thread: {0}; raise the limits of processes and open files")]
    Thread(io::Error),
}

/// The running listener. Dropping it stops it and waits for its thread.
#[derive(Debug)]
pub struct AdminListener {
    address: SocketAddr,
    url: String,
    certificates: Option<Arc<Certificates>>,
    lifecycle: Lifecycle,
    thread: Option<JoinHandle<()>>,
}

impl AdminListener {
    /// Starts the thread and returns once the address is bound.
    ///
    /// # Errors
    /// See [`AdminError`].
    pub fn start(
        address: SocketAddr,
        settings: &bulkhead_config::server::Admin,
        sources: AdminSources,
    ) -> Result<Self, AdminError> {
        let protected =
            address.ip().to_canonical().is_loopback() || settings.tls.is_some() || settings.allow_remote;
        if !protected {
            return Err(AdminError::Exposed(address));
        }
        let tls = settings.tls.as_ref().map(Certificates::load).transpose();
        let tls = tls.map_err(AdminError::Tls)?;
        let lifecycle = Lifecycle::new();
        let until = lifecycle.clone();
        let (report, reported) = mpsc::channel();
        let thread = thread::Builder::new().name("admin".to_owned());
        let connections = Arc::clone(&sources.connections);
        let refusals = sources.operators.as_ref().map(|operators| Arc::clone(&operators.deployments));
        let refusals = refusals.map(|deployments| Arc::new(RefusalLog::new(deployments)));
        let hosts = AllowedHosts::new(address.ip(), settings, refusals.clone());
        let router = router(sources, Arc::new(hosts), refusals);
        let certificates = tls.clone();
        let serve = move || serve(address, tls, router, connections, until, &report);
        let thread = thread.spawn(serve);
        let thread = thread.map_err(AdminError::Thread)?;
        let died = || Err(AdminError::Thread(io::Error::other("it ended before it listened")));
        let (address, url) = reported.recv().unwrap_or_else(|_| died())?;
        Ok(Self { address, url, certificates, lifecycle, thread: Some(thread) })
    }

    /// Returns the bound address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the certificate, where connections are encrypted.
    pub const fn certificates(&self) -> Option<&Arc<Certificates>> {
        self.certificates.as_ref()
    }

    /// Stops, waits for the thread (at most a second for requests in flight), and returns how the requests ended.
    /// Called last in a shutdown, so that probes are answered to the end.
    pub fn stop(mut self) -> Drain {
        self.join();
        self.lifecycle.drain()
    }

    fn join(&mut self) {
        self.lifecycle.stop();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the admin thread panicked");
        }
    }
}

impl Drop for AdminListener {
    fn drop(&mut self) {
        self.join();
    }
}

/// Runs on the admin thread: reports address and URL when bound, then serves. Creates and drops the runtime here, since
/// dropping one blocks, which is forbidden inside the caller's runtime.
fn serve(
    address: SocketAddr,
    tls: Option<Arc<Certificates>>,
    router: Router,
    connections: Arc<dyn ConnectionObserver>,
    lifecycle: Lifecycle,
    report: &mpsc::Sender<Result<(SocketAddr, String), AdminError>>,
) {
    let started = runtime::Builder::new_current_thread().enable_all().build().map_err(AdminError::Thread);
    let started = started.and_then(|runtime| {
        let context = runtime.enter();
        let bound = listen::bind(SETTING, address, tls.clone()).map_err(AdminError::Listen)?;
        drop(context);
        Ok((runtime, bound))
    });
    // The receiver waits for the report, so sending cannot fail.
    match started {
        Ok((runtime, bound)) => {
            let _ = report.send(Ok((bound.local_addr(), bound.url())));
            runtime.block_on(run(bound, tls, router, connections, lifecycle));
        }
        Err(error) => {
            let _ = report.send(Err(error));
        }
    }
}

async fn run(
    bound: BoundListener,
    tls: Option<Arc<Certificates>>,
    router: Router,
    observer: Arc<dyn ConnectionObserver>,
    lifecycle: Lifecycle,
) {
    let settings = ConnectionSettings {
        header_timeout: HEADER_TIMEOUT,
        keep_alive: KEEP_ALIVE,
        drain: DRAIN,
        connections: Arc::new(ConnectionLimit::new(CONNECTIONS, CONNECTIONS_PER_ADDRESS, [].into())),
        observer,
        heartbeat: Heartbeat::default(),
    };
    if let Some(certificates) = tls {
        tokio::spawn(certificates.watch(lifecycle.stopping()));
    }
    accept::serve(bound, router, settings, lifecycle.stopping()).await;
}

fn router(mut sources: AdminSources, hosts: Arc<AllowedHosts>, refusals: Option<Arc<RefusalLog>>) -> Router {
    let operators = sources.operators.take().zip(refusals);
    let operators =
        operators.map(|(operators, refusals)| v1::router(operators, refusals).merge(console::router()));
    let router = Router::new()
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/metrics", get(metrics::scrape))
        .with_state(sources)
        .merge(operators.unwrap_or_default());
    error::with_fallbacks(check_requests(router, path::refuse_unreadable))
        .layer(from_fn_with_state(hosts, hosts::check))
        .layer(from_fn(host_field::check))
        .layer(from_fn(head_fields::limit))
        .layer(CatchPanicLayer::custom(error::answer_panic))
        .layer(map_response(hyphenated))
        .layer(map_response(layers::forbid_sniffing))
        .layer(from_fn(layers::identify))
}

/// Rewrites the error codes of the host's own errors in the spelling of `/v1`.
async fn hyphenated(response: Response) -> Response {
    let Some(error) = response.extensions().get::<error::HostError>().copied() else { return response };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let body = Json(json!({ "error": error.code.replace('_', "-"), "message": error.message }));
    Response::from_parts(parts, body.into_response().into_body())
}

#[cfg(test)]
mod tests;
