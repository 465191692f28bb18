//! The operators' listener: health, metrics, slots under `/v1`, and a console for them.
//!
//! It runs on an operating-system thread of its own with a runtime of its own, so that it answers whatever
//! guests do to the workers that serve requests. What it asks for its answers must not block.

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
    accept::{self, ConnectionObserver, Settings},
    connection_limit::ConnectionLimit,
    error, head_fields, host_field, layers,
    lifecycle::{Drain, Lifecycle},
    listen::{self, Bound, ListenError},
    path,
    tls::{Certificates, TlsError},
};
use bulkhead_service::ReadyReport;
use serde_json::json;
use tokio::runtime;
use tower_http::catch_panic::CatchPanicLayer;

use self::{hosts::Hosts, refusals::Refusals};

pub use self::v1::Operators;

/// The configuration key of the address.
const SETTING: &str = "server.admin_listen";
/// Open connections: probes and scrapers, a few of each.
const CONNECTIONS: usize = 64;
/// Open connections from one address that is not loopback.
const CONNECTIONS_PER_ADDRESS: usize = 32;
/// Time for a request head: probes ask at once.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between requests: longer than the usual scrape interval.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Requests in flight have this long once the host has stopped; `host/rollout/README.md` names it.
const DRAIN: Duration = Duration::from_secs(1);

/// Writes all metrics: from the value of `Accept` to content type and body.
pub type Exposition = dyn Fn(Option<&str>) -> (&'static str, String) + Send + Sync;

/// Where the answers come from. Called on the admin thread, for every request anew; must not block.
#[derive(Clone)]
pub struct Sources {
    /// Whether the host is ready, and if not, why.
    pub ready: Arc<dyn Fn() -> ReadyReport + Send + Sync>,
    /// Content type and body of `/metrics`.
    pub metrics: Arc<Exposition>,
    /// Counts connections.
    pub connections: Arc<dyn ConnectionObserver>,
    /// What `/v1` operates on; without, there is none.
    pub operators: Option<Operators>,
}

/// An operators' listener that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Others could reach it unprotected.
    #[error(
        "`{SETTING}` is {0}, which others can reach without encryption: set `admin.tls`, use a loopback \
         address, or accept the risk with `admin.allow_remote = true`"
    )]
    Exposed(SocketAddr),
    /// The address is not to be had.
    #[error("{0}")]
    Listen(ListenError),
    /// The certificate is not usable.
    #[error("`admin.tls`: {0}")]
    Tls(TlsError),
    /// The operating system gives no thread or no event queue.
    #[error("cannot start the admin thread: {0}; raise the limits of processes and open files")]
    Thread(io::Error),
}

/// The running listener. Stops, and waits for its thread, when dropped.
#[derive(Debug)]
pub struct Admin {
    address: SocketAddr,
    url: String,
    lifecycle: Lifecycle,
    thread: Option<JoinHandle<()>>,
}

impl Admin {
    /// Starts the thread and returns once the address is bound.
    ///
    /// # Errors
    /// See [`AdminError`].
    pub fn start(
        address: SocketAddr,
        settings: &bulkhead_config::server::Admin,
        sources: Sources,
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
        let refusals = refusals.map(|deployments| Arc::new(Refusals::new(deployments)));
        let hosts = Hosts::new(address.ip(), settings, refusals.clone());
        let router = router(sources, Arc::new(hosts), refusals);
        let serve = move || serve(address, tls, router, connections, until, &report);
        let thread = thread.spawn(serve);
        let thread = thread.map_err(AdminError::Thread)?;
        let died = || Err(AdminError::Thread(io::Error::other("it ended before it listened")));
        let (address, url) = reported.recv().unwrap_or_else(|_| died())?;
        Ok(Self { address, url, lifecycle, thread: Some(thread) })
    }

    /// The address, with port 0 resolved.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The base of its URLs.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops and waits for the thread, for a second at most if a request is in flight; how the requests have ended.
    /// Last of all in a shutdown, so that probes are answered to the end.
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

impl Drop for Admin {
    fn drop(&mut self) {
        self.join();
    }
}

/// What the thread does: reports its address and URL once it is bound, then serves. The runtime begins and ends here,
/// for dropping one waits, which a caller's own runtime forbids.
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
    // Who asked is gone only with its process.
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
    bound: Bound,
    tls: Option<Arc<Certificates>>,
    router: Router,
    observer: Arc<dyn ConnectionObserver>,
    lifecycle: Lifecycle,
) {
    let settings = Settings {
        header_timeout: HEADER_TIMEOUT,
        keep_alive: KEEP_ALIVE,
        drain: DRAIN,
        connections: Arc::new(ConnectionLimit::new(CONNECTIONS, CONNECTIONS_PER_ADDRESS, [].into())),
        observer,
    };
    if let Some(certificates) = tls {
        tokio::spawn(certificates.watch(lifecycle.stopping()));
    }
    accept::serve(bound, router, settings, lifecycle.stopping()).await;
}

fn router(mut sources: Sources, hosts: Arc<Hosts>, refusals: Option<Arc<Refusals>>) -> Router {
    let operators = sources.operators.take().zip(refusals);
    let operators =
        operators.map(|(operators, refusals)| v1::router(operators, refusals).merge(console::router()));
    let router = Router::new()
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/metrics", get(metrics::scrape))
        .with_state(sources)
        .merge(operators.unwrap_or_default())
        .layer(from_fn(path::readable));
    error::with_fallbacks(router)
        .layer(from_fn_with_state(hosts, hosts::check))
        .layer(from_fn(host_field::check))
        .layer(from_fn(head_fields::limit))
        .layer(CatchPanicLayer::custom(error::answer_panic))
        .layer(map_response(hyphenated))
        .layer(map_response(layers::forbid_sniffing))
}

/// The host's own errors with their codes spelt like those of `/v1`.
async fn hyphenated(response: Response) -> Response {
    let Some(error) = response.extensions().get::<error::HostError>().copied() else { return response };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let body = Json(json!({ "error": error.code.replace('_', "-"), "message": error.message }));
    Response::from_parts(parts, body.into_response().into_body())
}

#[cfg(test)]
mod tests;
