//! Collects the routers that are served at each address.

use std::net::SocketAddr;

use axum::Router;

use crate::config::services::Service;

/// Routers by the address at which they are served, with the setting that names it. The shared listener has no address.
#[derive(Default)]
pub(super) struct Listeners(pub(super) Vec<(Option<SocketAddr>, String, Router)>);

impl Listeners {
    /// Adds a service's router below its prefix, at the address at which the service listens.
    pub(super) fn add(&mut self, name: &str, service: &Service, router: Router) {
        let prefix = service.path_prefix.as_str();
        let router = if prefix.is_empty() { router } else { Router::new().nest(prefix, router) };
        self.merge(service.listen, &format!("services.{name}.listen"), router);
    }

    /// Adds a router at an address, in addition to those that the address has.
    pub(super) fn merge(&mut self, address: Option<SocketAddr>, setting: &str, router: Router) {
        // Each listener on port 0 gets a port of its own.
        let shared =
            |known: &Option<SocketAddr>| *known == address && known.is_none_or(|known| known.port() != 0);
        match self.0.iter_mut().find(|(known, ..)| shared(known)) {
            Some((.., known)) => *known = std::mem::take(known).merge(router),
            None => self.0.push((address, setting.to_owned(), router)),
        }
    }
}
