//! The routers and open resources of a service that has started.

use std::{borrow::Cow, fmt, net::SocketAddr};

use axum::Router;
use futures_util::future::LocalBoxFuture;

/// The listener that a router is served by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServedAt {
    /// The listener of `[services.NAME]`, below its path prefix.
    Service,
    /// A listener at an address of its own.
    Address {
        /// The address.
        address: SocketAddr,
        /// The setting that names the address, for errors and the log.
        setting: Cow<'static, str>,
    },
    /// The shared listener, or one at an address of its own: what no route of the listener takes. The router answers every
    /// path. One router of a listener may be served so.
    Rest {
        /// The address, and the setting that names it; `None` for the shared listener.
        listener: Option<(SocketAddr, Cow<'static, str>)>,
    },
}

/// A resource that is open while a service runs, such as a database.
pub trait Close: fmt::Debug + Send + Sync {
    /// Closes it. Its errors go to the log.
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()>;
}

/// A service that has started.
#[derive(Debug, Default)]
pub struct Started {
    /// Its routers, each with the listener that serves it.
    pub routers: Vec<(ServedAt, Router)>,
    /// Resources to close after the last request, in reverse order. Services are closed in the reverse order of their
    /// start.
    pub open: Vec<Box<dyn Close>>,
}

impl Started {
    /// Returns a service with one router at its own listener, and nothing to close.
    pub fn with_router(router: Router) -> Self {
        Self { routers: vec![(ServedAt::Service, router)], open: Vec::new() }
    }
}
