//! Runs the accept loop of a listener: a limit of open connections, a backoff when file descriptors run out, and a
//! bounded drain at the end.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{
    connection::{self, Connection},
    connection_limit::{ConnectionLimit, STALL_TIMEOUT},
    lifecycle::Stopping,
    listen::Bound,
};

/// First pause after the operating system refused to accept.
const BACKOFF_FIRST: Duration = Duration::from_millis(20);
/// Longest such pause: short enough to go on soon after descriptors are free again.
const BACKOFF_LONGEST: Duration = Duration::from_secs(1);

/// The address at the other end of the connection, which may be a proxy's. In every request's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// Whether the connection itself is encrypted. In every request's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverTls(pub bool);

/// A fault of a connection outside a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operating system refused to accept, mostly because file descriptors ran out.
    Accept,
    /// The TLS handshake failed or took too long.
    Handshake,
    /// No whole request head arrived in time, or an answer was not taken.
    Timeout,
    /// The request head was not HTTP; answered with 400.
    Malformed,
    /// The request head was too large; answered with 431.
    TooLarge,
    /// The client went away, or broke the protocol, in the middle.
    Broken,
    /// Closed without an answer: the client's address had reached its share of the connections.
    Share,
    /// Closed to make room for another: idle, or waiting for its client for long.
    Evicted,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 8] = [
        Self::Accept,
        Self::Handshake,
        Self::Timeout,
        Self::Malformed,
        Self::TooLarge,
        Self::Broken,
        Self::Share,
        Self::Evicted,
    ];

    /// Returns the label in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Handshake => "handshake",
            Self::Timeout => "timeout",
            Self::Malformed => "malformed",
            Self::TooLarge => "too-large",
            Self::Broken => "broken",
            Self::Share => "share",
            Self::Evicted => "gave-way",
        }
    }
}

/// Counts connections. `()` counts nothing.
pub trait ConnectionObserver: Send + Sync + 'static {
    /// Records that a connection was accepted.
    fn opened(&self) {}
    /// Records that a connection is closed; called once for each opened one.
    fn closed(&self) {}
    /// Records a fault outside a request.
    fn fault(&self, _fault: Fault) {}
}

impl ConnectionObserver for () {}

/// Settings that listeners share. Clones share the limit of connections.
#[derive(Clone)]
pub struct Settings {
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
}

impl Settings {
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
        }
    }
}

/// Serves `router` until `stopping` resolves, then lets requests in flight end, for at most
/// `settings.drain`. New connections are refused from the first moment of draining.
///
/// At the limit, each listener accepts one more connection, which waits until another one is closed.
pub async fn serve(bound: Bound, router: Router, settings: Settings, mut stopping: Stopping) {
    let address = bound.local_addr();
    let connection = Connection::new(&bound, router, settings.clone(), stopping.clone());
    let mut open = JoinSet::new();
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            () = stopping.wait() => break,
            Some(_) = open.join_next() => continue,
            accepted = accept(&bound.listener, &settings) => accepted,
        };
        let permit = tokio::select! {
            biased;
            () = stopping.wait() => break,
            permit = settings.connections.admit(peer.ip()) => permit,
        };
        let Some(permit) = permit else {
            tracing::debug!("an address has its share of connections (server.connections_per_address)");
            settings.observer.fault(Fault::Share);
            continue;
        };
        open.spawn(connection::run(connection.clone(), stream, peer, permit));
    }
    drop(bound);
    drain(open, settings.drain, address, &stopping).await;
}

/// Returns the next connection. Faults of a single connection, and missing resources, never end the loop.
async fn accept(listener: &TcpListener, settings: &Settings) -> (TcpStream, SocketAddr) {
    let mut pause = BACKOFF_FIRST;
    loop {
        let error = match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => error,
        };
        settings.observer.fault(Fault::Accept);
        if concerns_one_connection(&error) {
            continue;
        }
        tracing::warn!(%error, "cannot accept connections; raise the limit of open files if this persists");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(BACKOFF_LONGEST);
    }
}

fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn drain(mut open: JoinSet<()>, limit: Duration, address: SocketAddr, stopping: &Stopping) {
    let all_ended = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(limit, all_ended).await.is_err() {
        let (connections, requests) = (open.len(), stopping.cut_off());
        tracing::warn!(%address, connections, requests, "drain time is over, closing connections");
        open.shutdown().await;
    }
}

#[cfg(test)]
mod tests;
