//! How many connections are open at once, over all listeners and from one network, and which one gives way where there
//! is no room for another.

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

use super::{pulse::Pulse, rate_limit::client_network};

/// A connection that has been idle for so long gives way to others. Long enough for the head of a request that is on
/// its way.
const GRACE: Duration = Duration::from_secs(1);
/// A connection that has waited for its client for so long, to send a request's body or to take an answer, gives way where
/// none is idle. Long enough for what is sent and taken over a slow network.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// While there is no room, connections that give way are looked for this often.
const LOOK_ROUND: Duration = Duration::from_millis(50);

/// The limit that listeners share.
#[derive(Debug)]
pub struct ConnectionLimit {
    most: usize,
    share: usize,
    exempt: Arc<[IpNet]>,
    /// See [`GRACE`].
    grace: Duration,
    /// See [`PATIENCE`]; none where such connections stay.
    patience: Option<Duration>,
    table: Mutex<Table>,
    /// A connection has ended.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    open: HashMap<u64, Open>,
    /// Connections of each network that has a share, without those that have been asked to leave.
    networks: HashMap<u128, usize>,
    /// Connections that have been asked to leave and are still there.
    leaving: usize,
}

#[derive(Debug)]
struct Open {
    /// Whose share it counts against.
    network: Option<u128>,
    pulse: Arc<Pulse>,
    leave: Arc<Notify>,
    is_leaving: bool,
}

impl ConnectionLimit {
    /// At most `most` connections at once, and `share` from one address, of IPv6 from one /64; loopback and `exempt`
    /// count towards no share.
    pub fn new(most: usize, share: usize, exempt: Arc<[IpNet]>) -> Self {
        let (table, freed) = (Mutex::default(), Notify::new());
        Self { most, share, exempt, grace: GRACE, patience: None, table, freed }
    }

    /// The same, where connections also give way that have waited for their client for so long.
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// A permit for a connection from `peer`, as soon as there is room: idle connections give way, the one that has
    /// been idle for longest first, then those that wait for their clients. `None` if the peer's network has its share and none of its own is idle.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionPermit> {
        let peer = peer.to_canonical();
        let is_exempt = peer.is_loopback() || self.exempt.iter().any(|net| net.contains(&peer));
        let network = (!is_exempt).then(|| client_network(peer));
        loop {
            match self.try_admit(network) {
                Attempt::Admitted(permit) => return Some(permit),
                Attempt::OverShare => return None,
                // Looks again in time for what has become idle meanwhile.
                Attempt::Full => drop(timeout(LOOK_ROUND, self.freed.notified()).await),
            }
        }
    }

    fn try_admit(self: &Arc<Self>, network: Option<u128>) -> Attempt {
        let mut table = self.table();
        if let Some(network) = network
            && table.networks.get(&network).is_some_and(|count| *count >= self.share)
            && !table.ask_longest(Pulse::idle_since, self.grace, Some(network))
        {
            return Attempt::OverShare;
        }
        if table.open.len() >= self.most {
            if table.leaving == 0
                && !table.ask_longest(Pulse::idle_since, self.grace, None)
                && let Some(patience) = self.patience
            {
                table.ask_longest(Pulse::stalled_since, patience, None);
            }
            return Attempt::Full;
        }
        let (pulse, leave) = (Arc::new(Pulse::new()), Arc::new(Notify::new()));
        let id = table.next;
        table.next += 1;
        let open = Open { network, pulse: Arc::clone(&pulse), leave: Arc::clone(&leave), is_leaving: false };
        table.open.insert(id, open);
        table.count(network);
        Attempt::Admitted(ConnectionPermit { limit: Arc::clone(self), id, pulse, leave })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Attempt {
    Admitted(ConnectionPermit),
    OverShare,
    Full,
}

impl Table {
    /// Asks the connection to leave that has been so for longest, and for `least` at least, of all or of one network.
    /// Returns whether there is one.
    fn ask_longest(
        &mut self,
        since: fn(&Pulse) -> Option<Instant>,
        least: Duration,
        network: Option<u128>,
    ) -> bool {
        let now = Instant::now();
        let candidates = self.open.values_mut().filter(|open| !open.is_leaving);
        let candidates = candidates.filter(|open| network.is_none() || open.network == network);
        let resting = candidates.filter_map(|open| {
            let since = since(&open.pulse).filter(|since| now.duration_since(*since) >= least)?;
            Some((since, open))
        });
        let Some((_, open)) = resting.min_by_key(|(since, _)| *since) else { return false };
        open.is_leaving = true;
        open.leave.notify_one();
        let network = open.network;
        self.leaving += 1;
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

/// The right of one connection to be open; ends when dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    id: u64,
    pulse: Arc<Pulse>,
    leave: Arc<Notify>,
}

impl ConnectionPermit {
    /// What the connection does.
    pub(super) const fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// Resolves once the connection has to make room for another; then it must end, at once. One that has work again
    /// stays.
    pub(super) async fn must_leave(&self) {
        loop {
            self.leave.notified().await;
            let is_stalled = || self.limit.patience.is_some() && self.pulse.stalled_since().is_some();
            if self.pulse.idle_since().is_some() || is_stalled() {
                return;
            }
            self.stay();
        }
    }

    fn stay(&self) {
        let mut table = self.limit.table();
        let Some(open) = table.open.get_mut(&self.id).filter(|open| open.is_leaving) else { return };
        open.is_leaving = false;
        let network = open.network;
        table.leaving -= 1;
        table.count(network);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut table = self.limit.table();
        if let Some(open) = table.open.remove(&self.id) {
            match open.is_leaving {
                true => table.leaving -= 1,
                false => table.discount(open.network),
            }
        }
        drop(table);
        self.limit.freed.notify_one();
    }
}

#[cfg(test)]
mod tests;
