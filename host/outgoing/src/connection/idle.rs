//! The open connections of a slot that wait for another request.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::UpstreamConnection;
use crate::destination::Destination;

/// How long a connection waits: less than most servers keep one.
const IDLE: Duration = Duration::from_secs(20);

/// Where a connection leads: requests to another origin or address never use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) destination: Destination,
    pub(crate) address: SocketAddr,
}

struct Idle {
    route: Route,
    connection: UpstreamConnection,
    since: Instant,
}

/// The connections that wait.
pub(crate) struct IdleConnections {
    /// Most connections that wait.
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    /// A task closes connections that wait for too long.
    is_swept: bool,
}

impl IdleConnections {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection that leads to one of `addresses`.
    pub(crate) fn take(
        &self,
        destination: &Destination,
        addresses: &[SocketAddr],
    ) -> Option<(Route, UpstreamConnection)> {
        let mut state = self.lock();
        state.drop_unusable();
        let fits =
            |idle: &Idle| idle.route.destination == *destination && addresses.contains(&idle.route.address);
        let place = state.idle.iter().rposition(fits)?;
        let Idle { route, connection, .. } = state.idle.remove(place);
        Some((route, connection))
    }

    /// Keeps a connection for another request.
    pub(crate) fn put(self: &Arc<Self>, route: Route, connection: UpstreamConnection) {
        let mut state = self.lock();
        state.drop_unusable();
        if state.idle.len() < self.limit {
            state.idle.push(Idle { route, connection, since: Instant::now() });
        }
        if state.idle.is_empty() || state.is_swept {
            return;
        }
        state.is_swept = true;
        drop(state);
        let idle = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(IDLE).await;
                let Some(idle) = idle.upgrade() else { return };
                let mut state = idle.lock();
                state.drop_unusable();
                if state.idle.is_empty() {
                    state.is_swept = false;
                    return;
                }
            }
        });
    }

    /// Returns how many connections wait.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.lock().idle.len()
    }
}

impl State {
    /// Closes connections that the server has closed, or that have waited for too long.
    fn drop_unusable(&mut self) {
        self.idle.retain(|idle| !idle.connection.requests.is_closed() && idle.since.elapsed() < IDLE);
    }
}
