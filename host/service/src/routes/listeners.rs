//! The open listeners of a host, each with a router that is replaced while it is served.

use std::{mem, net::SocketAddr, sync::Arc};

use axum::Router;
use bulkhead_http::{
    accept,
    layers::{self, Layers},
    lifecycle::{ListenerHandle, Stopping},
    listen::{self, Bound, ListenError},
    live_router::LiveRouter,
    tls::Certificates,
};
use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, task::JoinSet};

use super::{Place, Placed};

/// Completes once the socket of a listener is closed.
pub(super) type SocketClosed = BoxFuture<'static, ()>;

/// How the listeners of a host are served.
pub struct ListenerSettings {
    /// Address of the shared listener.
    pub shared: SocketAddr,
    /// A layer around the routes of the shared listener alone, inside of all others.
    pub shared_layer: Option<fn(Router) -> Router>,
    /// The layers of every listener.
    pub layers: Layers,
    /// Timeouts and limits of connections.
    pub connections: accept::Settings,
    /// The certificate, where connections are encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// Resolves when every listener must close.
    pub stopping: Stopping,
}

/// An open listener. Dropping it closes it.
struct OpenListener {
    place: Place,
    address: SocketAddr,
    router: LiveRouter,
    closed: SocketClosed,
    _handle: ListenerHandle,
}

/// The open listeners of a host.
pub(super) struct Listeners {
    settings: ListenerSettings,
    /// The runtime that serves them, whichever thread adds one.
    runtime: Handle,
    open: Vec<OpenListener>,
    /// One task a listener, also of those that are closed and whose requests have not ended.
    tasks: JoinSet<()>,
}

impl Listeners {
    /// Returns no listener. Those that are added are served on the current runtime.
    pub(super) fn new(settings: ListenerSettings) -> Self {
        Self { settings, runtime: Handle::current(), open: Vec::new(), tasks: JoinSet::new() }
    }

    /// Serves these routers: opens new listeners, replaces the routers of open ones, and closes those that are not
    /// named, with futures that complete once their sockets are closed.
    ///
    /// # Errors
    /// When an address cannot be bound; nothing has changed then.
    pub(super) fn apply(&mut self, wanted: Vec<Placed>) -> Result<Vec<SocketClosed>, ListenError> {
        let runtime = self.runtime.clone();
        let _entered = runtime.enter();
        while self.tasks.try_join_next().is_some() {}
        let mut bound = Vec::new();
        for (place, _) in &wanted {
            if !self.open.iter().any(|known| known.place.is_same(place)) {
                bound.push(self.bind(place)?);
            }
        }
        let (mut bound, mut open) = (bound.into_iter(), Vec::with_capacity(wanted.len()));
        for (place, router) in wanted {
            let router = self.with_layers(&place, router);
            match self.open.iter().position(|known| known.place.is_same(&place)) {
                Some(at) => {
                    let known = self.open.swap_remove(at);
                    known.router.set(router);
                    open.push(known);
                }
                None => open.extend(bound.next().map(|bound| self.serve(place, bound, router))),
            }
        }
        let closing = mem::replace(&mut self.open, open);
        Ok(closing.into_iter().map(|listener| self.close(listener)).collect())
    }

    /// Returns the address of the shared listener, with port 0 resolved.
    pub(super) fn shared_address(&self) -> SocketAddr {
        let shared = self.open.iter().find(|known| known.place.address.is_none());
        shared.map_or(self.settings.shared, |shared| shared.address)
    }

    /// Waits until every listener is closed and its requests have ended.
    pub(super) async fn ended(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn bind(&self, place: &Place) -> Result<Bound, ListenError> {
        let address = place.address.unwrap_or(self.settings.shared);
        listen::bind(&place.setting, address, self.settings.certificates.clone())
    }

    /// Adds the layers of every listener to a router.
    fn with_layers(&self, place: &Place, router: Router) -> Router {
        let innermost = self.settings.shared_layer.filter(|_| place.address.is_none());
        layers::with_layers(router, Layers { innermost, ..self.settings.layers.clone() })
    }

    /// Serves a bound listener.
    fn serve(&mut self, place: Place, bound: Bound, router: Router) -> OpenListener {
        tracing::info!(url = bound.url(), setting = &*place.setting, "listening");
        let (address, closed, router) =
            (bound.local_addr(), Box::pin(bound.closed()), LiveRouter::from(router));
        let (handle, stopping) = self.settings.stopping.for_listener();
        self.tasks.spawn(accept::serve(bound, router.clone(), self.settings.connections.clone(), stopping));
        OpenListener { place, address, router, closed, _handle: handle }
    }

    /// Closes a listener. What its routers own is dropped with its last request, also while a connection stays open.
    fn close(&self, listener: OpenListener) -> SocketClosed {
        let OpenListener { place, address, router, closed, _handle } = listener;
        tracing::info!(%address, setting = &*place.setting, "the listener has no routes and is closed");
        router.set(self.with_layers(&place, Router::new()));
        closed
    }
}
