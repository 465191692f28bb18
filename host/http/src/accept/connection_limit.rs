//! Limits the connections that are open at once, over all listeners and from one network, and chooses the one to close
//! at the limit.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ipnet::IpNet;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use super::connection_activity::ConnectionActivity;
use crate::rate_limit::client_network;

/// How long a connection must have been idle to be closed for another one. Long enough for a request head that is on
/// its way.
const IDLE_GRACE: Duration = Duration::from_secs(1);
/// How long a connection must have waited for its client, to send a request's body or to read an answer, to be closed
/// where none is idle. Long enough for a slow network.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How often to look for a connection to close while the limit is reached.
const RESCAN_INTERVAL: Duration = Duration::from_millis(50);

/// The limit that listeners share.
#[derive(Debug)]
pub struct ConnectionLimit {
    most: usize,
    share: usize,
    exempt: Arc<[IpNet]>,
    /// See [`IDLE_GRACE`].
    idle_grace: Duration,
    /// See [`STALL_TIMEOUT`]; none where such connections are not closed.
    stall_timeout: Option<Duration>,
    table: Mutex<ConnectionTable>,
    /// A connection has ended.
    freed: Notify,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    next: u64,
    open: HashMap<u64, OpenConnection>,
    /// Connections of each network that has a share, without those that have been asked to close.
    networks: HashMap<u128, usize>,
    /// Connections that have been asked to close and are still there.
    evicting: usize,
}

#[derive(Debug)]
struct OpenConnection {
    /// The network whose share it counts against.
    network: Option<u128>,
    activity: Arc<ConnectionActivity>,
    evict: Arc<Notify>,
    is_evicted: bool,
}

impl ConnectionLimit {
    /// Makes a limit of `most` connections at once, and of `share` from one address, of IPv6 from one /64. Loopback and
    /// `exempt` have no share.
    pub fn new(most: usize, share: usize, exempt: Arc<[IpNet]>) -> Self {
        let (table, freed) = (Mutex::default(), Notify::new());
        Self { most, share, exempt, idle_grace: IDLE_GRACE, stall_timeout: None, table, freed }
    }

    /// Returns the same limit, which also closes connections that have waited for their client for this long.
    pub(super) fn with_stall_timeout(self, stall_timeout: Duration) -> Self {
        Self { stall_timeout: Some(stall_timeout), ..self }
    }

    /// Waits for a permit for a connection from `peer`. At the limit the connection that has been idle for longest is
    /// closed, then those that wait for their clients. `None` if the peer's network has reached its share and none of
    /// its own connections is idle.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionPermit> {
        let peer = peer.to_canonical();
        let is_exempt = peer.is_loopback() || self.exempt.iter().any(|net| net.contains(&peer));
        let network = (!is_exempt).then(|| client_network(peer));
        loop {
            match self.try_admit(network) {
                Attempt::Admitted(permit) => return Some(permit),
                Attempt::OverShare => return None,
                // Looks again for connections that have become idle.
                Attempt::Full => drop(timeout(RESCAN_INTERVAL, self.freed.notified()).await),
            }
        }
    }

    fn try_admit(self: &Arc<Self>, network: Option<u128>) -> Attempt {
        let mut table = self.table();
        if let Some(network) = network
            && table.networks.get(&network).is_some_and(|count| *count >= self.share)
            && !table.evict_longest(ConnectionActivity::idle_since, self.idle_grace, Some(network))
        {
            return Attempt::OverShare;
        }
        if table.open.len() >= self.most {
            if table.evicting == 0
                && !table.evict_longest(ConnectionActivity::idle_since, self.idle_grace, None)
                && let Some(stall_timeout) = self.stall_timeout
            {
                table.evict_longest(ConnectionActivity::stalled_since, stall_timeout, None);
            }
            return Attempt::Full;
        }
        let (activity, evict) = (Arc::new(ConnectionActivity::new()), Arc::new(Notify::new()));
        let id = table.next;
        table.next += 1;
        let open = OpenConnection {
            network,
            activity: Arc::clone(&activity),
            evict: Arc::clone(&evict),
            is_evicted: false,
        };
        table.open.insert(id, open);
        table.count(network);
        Attempt::Admitted(ConnectionPermit { limit: Arc::clone(self), id, activity, evict })
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Attempt {
    Admitted(ConnectionPermit),
    OverShare,
    Full,
}

impl ConnectionTable {
    /// Asks the connection to close whose `since` is earliest, and at least `least` ago, of all or of one network.
    /// Returns whether there is one.
    fn evict_longest(
        &mut self,
        since: fn(&ConnectionActivity) -> Option<Instant>,
        least: Duration,
        network: Option<u128>,
    ) -> bool {
        let now = Instant::now();
        let candidates = self.open.values_mut().filter(|open| !open.is_evicted);
        let candidates = candidates.filter(|open| network.is_none() || open.network == network);
        let waiting = candidates.filter_map(|open| {
            let since = since(&open.activity).filter(|since| now.duration_since(*since) >= least)?;
            Some((since, open))
        });
        let Some((_, open)) = waiting.min_by_key(|(since, _)| *since) else { return false };
        open.is_evicted = true;
        open.evict.notify_one();
        let network = open.network;
        self.evicting += 1;
        self.discount(network);
        true
    }

    fn count(&mut self, network: Option<u128>) {
        if let Some(network) = network {
            *self.networks.entry(network).or_default() += 1;
        }
    }

    fn discount(&mut self, network: Option<u128>) {
        if let Some(network) = network
            && let Some(count) = self.networks.get_mut(&network)
        {
            *count -= 1;
            if *count == 0 {
                self.networks.remove(&network);
            }
        }
    }
}

/// The permit of one open connection; released when dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    id: u64,
    activity: Arc<ConnectionActivity>,
    evict: Arc<Notify>,
}

impl ConnectionPermit {
    /// Returns the connection's activity.
    pub(super) const fn activity(&self) -> &Arc<ConnectionActivity> {
        &self.activity
    }

    /// Resolves once the connection must close at once for another one. A connection that has work again stays open.
    pub(super) async fn evicted(&self) {
        loop {
            self.evict.notified().await;
            let is_stalled = || self.limit.stall_timeout.is_some() && self.activity.stalled_since().is_some();
            if self.activity.idle_since().is_some() || is_stalled() {
                return;
            }
            self.cancel_eviction();
        }
    }

    fn cancel_eviction(&self) {
        let mut table = self.limit.table();
        let Some(open) = table.open.get_mut(&self.id).filter(|open| open.is_evicted) else { return };
        open.is_evicted = false;
        let network = open.network;
        table.evicting -= 1;
        table.count(network);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut table = self.limit.table();
        if let Some(open) = table.open.remove(&self.id) {
            match open.is_evicted {
                true => table.evicting -= 1,
                false => table.discount(open.network),
            }
        }
        drop(table);
        self.limit.freed.notify_one();
    }
}

#[cfg(test)]
mod tests;
