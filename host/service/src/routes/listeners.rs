//! The open listeners of a host, each with a router that is replaced while it is served.

use std::{
    mem,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::Router;
use bulkhead_http::{
    accept, error,
    layers::{self, Layers, RouterLayer},
    lifecycle::{ListenerHandle, Stopping},
    listen::{self, BoundListener, ListenError, Reserved},
    live_router::LiveRouter,
    tls::Certificates,
};
use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, task::JoinSet};

use super::{ListenAddress, Wanted};

/// Completes once the socket of a listener is closed.
pub(super) type SocketClosed = BoxFuture<'static, ()>;

/// How the listeners of a host are served.
pub struct ListenerSettings {
    /// A layer around the routes of the shared listener alone, inside of all others.
    pub shared_layer: Option<RouterLayer>,
    /// The layers of every listener.
    pub layers: Layers,
    /// Timeouts and limits of connections.
    pub connections: accept::ConnectionSettings,
    /// The certificate, where connections are encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// Resolves when every listener must close.
    pub stopping: Stopping,
    /// Whether services are still starting, so that what no route takes is 503 `starting` and not 404.
    pub is_starting: bool,
}

/// An open listener. Dropping it closes it.
struct OpenListener {
    place: ListenAddress,
    address: SocketAddr,
    router: LiveRouter,
    closed: SocketClosed,
    _handle: ListenerHandle,
}

/// The open listeners of a host.
pub(super) struct Listeners {
    settings: ListenerSettings,
    /// Configured address of the shared listener.
    shared: SocketAddr,
    /// The address of the shared listener until it is opened.
    reserved: Option<Reserved>,
    /// The runtime that serves them, whichever thread adds one.
    runtime: Handle,
    open: Vec<OpenListener>,
    /// One task a listener, also of those that are closed and whose requests have not ended.
    tasks: JoinSet<()>,
}

impl Listeners {
    /// Returns no listener; the shared one gets the address of `shared`. Those that are added are served on the current
    /// runtime.
    pub(super) fn new(shared: Reserved, settings: ListenerSettings) -> Self {
        Self {
            settings,
            shared: shared.configured_addr(),
            reserved: Some(shared),
            runtime: Handle::current(),
            open: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Makes what no route takes 404 in routers that are applied from now on.
    pub(super) const fn end_start(&mut self) {
        self.settings.is_starting = false;
    }

    /// Serves these routers: opens new listeners, replaces the routers of open ones, and closes those that are not
    /// named, with futures that complete once their sockets are closed.
    ///
    /// # Errors
    /// When an address cannot be bound; nothing has changed then.
    pub(super) fn apply(&mut self, wanted: Vec<Wanted>) -> Result<Vec<SocketClosed>, ListenError> {
        let runtime = self.runtime.clone();
        let _entered = runtime.enter();
        while self.tasks.try_join_next().is_some() {}
        let mut bound = Vec::new();
        for Wanted { place, .. } in &wanted {
            if !self.open.iter().any(|known| known.place.is_same(place)) {
                bound.push(self.bind(place)?);
            }
        }
        let (mut bound, mut open) = (bound.into_iter(), Vec::with_capacity(wanted.len()));
        for Wanted { place, routes, rest } in wanted {
            let router = self.with_layers(&place, routes, rest);
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

    /// Closes the listeners that are not among these places and hold an address that one of them needs, with futures that
    /// complete once their sockets are closed. Until then, that place cannot be bound.
    pub(super) fn close_overlapping(&mut self, wanted: &[ListenAddress]) -> Vec<SocketClosed> {
        let is_open = |place: &ListenAddress| self.open.iter().any(|known| known.place.is_same(place));
        let opening = wanted.iter().filter(|place| !is_open(place));
        let needed: Vec<SocketAddr> = opening.map(|place| self.address(place)).collect();
        let is_in_the_way = |known: &OpenListener| {
            !wanted.iter().any(|place| known.place.is_same(place))
                && needed.iter().any(|address| overlap(known.address, *address))
        };
        let (closing, open): (Vec<_>, Vec<_>) =
            mem::take(&mut self.open).into_iter().partition(is_in_the_way);
        self.open = open;
        closing.into_iter().map(|listener| self.close(listener)).collect()
    }

    /// Returns the address of the shared listener, with port 0 resolved.
    pub(super) fn shared_address(&self) -> SocketAddr {
        let shared = self.open.iter().find(|known| known.place.address.is_none());
        shared.map_or(self.shared, |shared| shared.address)
    }

    /// Waits until every listener is closed and its requests have ended.
    pub(super) async fn ended(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn address(&self, place: &ListenAddress) -> SocketAddr {
        place.address.unwrap_or(self.shared)
    }

    fn bind(&mut self, place: &ListenAddress) -> Result<BoundListener, ListenError> {
        let reserved = self.reserved.take_if(|_| place.address.is_none());
        let reserved = reserved.map_or_else(|| listen::reserve(&place.setting, self.address(place)), Ok)?;
        reserved.listen(self.settings.certificates.clone())
    }

    /// Adds the layers of every listener to a router.
    fn with_layers(&self, place: &ListenAddress, routes: Router, rest: Option<Router>) -> Router {
        let innermost = self.settings.shared_layer.clone().filter(|_| place.address.is_none());
        let rest = rest.or_else(|| self.settings.is_starting.then(error::starting));
        layers::with_layers(routes, Layers { innermost, rest, ..self.settings.layers.clone() })
    }

    /// Serves a bound listener.
    fn serve(&mut self, place: ListenAddress, bound: BoundListener, router: Router) -> OpenListener {
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
        router.set(self.with_layers(&place, Router::new(), None));
        closed
    }
}

/// Returns whether two addresses cannot be listened on at the same time: they have the same port, and the same IP address
/// or one that stands for all.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let (one_ip, other_ip) = (one.ip().to_canonical(), other.ip().to_canonical());
    // An IPv6 socket for all addresses takes IPv4 connections, too.
    let covers = |ip: IpAddr, other: IpAddr| ip.is_unspecified() && (ip.is_ipv6() || other.is_ipv4());
    one.port() == other.port() && (one_ip == other_ip || covers(one_ip, other_ip) || covers(other_ip, one_ip))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn addresses_of_one_port_may_overlap() {
        for (one, other, do_overlap) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("0.0.0.0:80", "127.0.0.1:80", true),
            ("0.0.0.0:80", "127.0.0.1:81", false),
            ("0.0.0.0:80", "[::1]:80", false),
            ("[::]:80", "[::1]:80", true),
            ("[::]:80", "127.0.0.1:80", true),
            ("[::]:80", "0.0.0.0:80", true),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80", true),
        ] {
            let [first, second] = [one, other].map(|address| address.parse().unwrap());
            assert_eq!(overlap(first, second), do_overlap, "{one} {other}");
            assert_eq!(overlap(second, first), do_overlap, "{other} {one}");
        }
    }
}
