//! Runs the accept loop of a listener: a limit of open connections, a backoff when file descriptors run out, and a
//! bounded drain at the end.

mod connection;
mod connection_activity;
pub mod connection_limit;
pub mod heartbeat;
pub mod listen;
pub mod live_router;
mod observer;
mod refused_head;
mod settings;
mod stream;
pub mod tls;

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::lifecycle::Stopping;
use connection::Connection;
use listen::BoundListener;
use live_router::LiveRouter;
pub use observer::{ConnectionFault, ConnectionObserver};
pub use settings::ConnectionSettings;

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

/// Serves `router`, which may be replaced meanwhile, until `stopping` resolves, then lets requests in flight end, for at most
/// `settings.drain`. New connections are refused from the first moment of draining.
///
/// At the limit, each listener accepts one more connection, which waits until another one is closed.
pub async fn serve(
    bound: BoundListener,
    router: impl Into<LiveRouter>,
    settings: ConnectionSettings,
    mut stopping: Stopping,
) {
    let address = bound.local_addr();
    let connection = Connection::new(&bound, router.into(), settings.clone(), stopping.clone());
    let mut open = JoinSet::new();
    let mut heartbeat = settings.heartbeat.of_loop();
    tokio::select! {
        () = accept_all(&bound.listener, &connection, &settings, &mut stopping, &mut open) => {}
        never = heartbeat.answer() => match never {},
    }
    drop(heartbeat);
    drop(bound);
    drain(open, settings.drain, address, &stopping).await;
}

/// Accepts connections and adds their tasks to `open`, until `stopping` resolves.
async fn accept_all(
    listener: &TcpListener,
    connection: &Connection,
    settings: &ConnectionSettings,
    stopping: &mut Stopping,
    open: &mut JoinSet<()>,
) {
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            () = stopping.wait() => return,
            Some(_) = open.join_next() => continue,
            accepted = accept(listener, settings) => accepted,
        };
        let permit = tokio::select! {
            biased;
            () = stopping.wait() => return,
            permit = settings.connections.admit(peer.ip()) => permit,
        };
        let Some(permit) = permit else {
            tracing::debug!("an address has its share of connections (server.connections_per_address)");
            settings.observer.fault(ConnectionFault::Share);
            continue;
        };
        open.spawn(connection::run(connection.clone(), stream, peer, permit));
    }
}

/// Returns the next connection. Faults of a single connection, and missing resources, never end the loop.
async fn accept(listener: &TcpListener, settings: &ConnectionSettings) -> (TcpStream, SocketAddr) {
    let mut pause = BACKOFF_FIRST;
    loop {
        let error = match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => error,
        };
        settings.observer.fault(ConnectionFault::Accept);
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
