//! Settings that the listeners share.

use std::{sync::Arc, time::Duration};

use super::{
    connection_limit::{ConnectionLimit, STALL_TIMEOUT},
    heartbeat::Heartbeat,
    observer::ConnectionObserver,
};

/// Settings that listeners share. Clones share the limit of connections and the heartbeat.
#[derive(Clone)]
pub struct ConnectionSettings {
    /// Time for a TLS handshake and the first request head together, and for each later head.
    pub header_timeout: Duration,
    /// Time between an answer and the next request.
    pub keep_alive: Duration,
    /// Time that requests in flight have once the listener closes.
    pub drain: Duration,
    /// How many connections may be open.
    pub connections: Arc<ConnectionLimit>,
    /// Counts connections.
    pub observer: Arc<dyn ConnectionObserver>,
    /// Shows whether the accept loops move.
    pub heartbeat: Heartbeat,
}

impl ConnectionSettings {
    /// Returns the settings of all public listeners.
    pub fn new(server: &bulkhead_config::server::Server, observer: Arc<dyn ConnectionObserver>) -> Self {
        let connections = ConnectionLimit::new(
            server.max_connections,
            server.connections_per_address.unwrap_or(server.max_connections.div_ceil(2)),
            server.trusted_proxies.clone().into(),
        );
        Self {
            header_timeout: server.header_timeout,
            keep_alive: server.keep_alive,
            drain: server.drain,
            connections: Arc::new(connections.with_stall_timeout(STALL_TIMEOUT)),
            observer,
            heartbeat: Heartbeat::default(),
        }
    }
}
