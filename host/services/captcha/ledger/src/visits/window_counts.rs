//! Counts the visits inside the window in memory, on a host that alone writes its database.
//!
//! A client that is not in memory has no visits, unless they may have been dropped or written before the start: then it
//! is unknown, and its visits are read from the database. So memory is bounded, and what is dropped from it still
//! counts. What does not count is a visit that a fast clock dated beyond the end of the window, once it is dropped.

#[cfg(test)]
mod tests;

use crate::records::{self, COUNT_CEILING, Visit, VisitRows, Visits, Window};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Clients in memory at most, about 30 MB.
const MOST_CLIENTS: usize = 200_000;

/// Sites in memory; beyond, all are dropped and read again when they are needed.
const MOST_SITES: usize = 1024;

/// A client's key in half the size of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientKey([u128; 2]);

impl ClientKey {
    /// Returns the key for a text of 64 lower-case hex digits, and none for another.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !records::is_hash(text) {
            return None;
        }
        let (first, second) = text.as_bytes().split_at_checked(32)?;
        Some(Self([number(first), number(second)]))
    }
}

/// Returns the number that lower-case hex digits write.
fn number(digits: &[u8]) -> u128 {
    let value = |digit: u8| if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
    digits.iter().fold(0, |number, digit| (number << 4) | u128::from(value(*digit)))
}

/// When a client's visits expire, in order.
type Expiries = VecDeque<i64>;

/// When a site's buckets expire, and the visits in them.
type Buckets = VecDeque<(i64, u64)>;

/// Visits that wait to be written.
type Unwritten = VecDeque<Arc<Visit>>;

/// The clients that were last seen in one period.
#[derive(Default)]
pub(super) struct Period {
    clients: HashMap<ClientKey, Expiries>,
    /// No visit of them expires later.
    latest: i64,
}

impl Period {
    fn put(&mut self, key: ClientKey, expiries: Expiries) {
        self.latest = self.latest.max(expiries.back().copied().unwrap_or_default());
        self.clients.insert(key, expiries);
    }
}

/// The visits inside the window. Times are Unix milliseconds.
pub(super) struct WindowCounts {
    window: Window,
    /// Clients that were seen since the present period began.
    recent: Period,
    /// Clients that were last seen in the period before, which are dropped at its end.
    earlier: Period,
    /// When the present period began.
    began_at: i64,
    sites: HashMap<String, Buckets>,
    /// Until this time a client or site that is not in memory is unknown.
    unknown_until: i64,
    /// At an earlier time than this, visits would count that were dropped.
    dropped_to: i64,
    /// What was dropped, to be freed without the lock.
    dropped: Vec<Period>,
}

impl WindowCounts {
    /// Starts with nothing known.
    pub(super) fn new(window: Window, now: i64) -> Self {
        Self {
            window,
            recent: Period::default(),
            earlier: Period::default(),
            began_at: now,
            sites: HashMap::new(),
            unknown_until: window.end(now),
            dropped_to: i64::MIN,
            dropped: Vec::new(),
        }
    }

    /// Follows the clock, and drops what is too much. Everything is unknown again if the time of day went back to where
    /// dropped visits would count.
    pub(super) fn follow(&mut self, now: i64) {
        if now < self.dropped_to {
            self.dropped.extend([std::mem::take(&mut self.recent), std::mem::take(&mut self.earlier)]);
            *self = Self { dropped: std::mem::take(&mut self.dropped), ..Self::new(self.window, now) };
            return;
        }
        if self.recent.clients.len() >= MOST_CLIENTS / 2 || self.window.end(self.began_at) < now {
            self.begin_period(now);
        }
        if self.sites.len() > MOST_SITES {
            self.sites.clear();
            self.unknown_until = self.unknown_until.max(self.window.end(now));
        }
    }

    /// Drops the clients that were not seen in the present period. If it lasted as long as the window, none of their
    /// visits counts any more; otherwise they are unknown for as long as one may count.
    fn begin_period(&mut self, now: i64) {
        let dropped = std::mem::replace(&mut self.earlier, std::mem::take(&mut self.recent));
        self.began_at = now;
        let floor = self.floor(now);
        if dropped.latest >= floor {
            let last = dropped.latest.min(self.window.end(now));
            self.unknown_until = self.unknown_until.max(last);
        }
        self.dropped_to = self.dropped_to.max(floor);
        self.dropped.push(dropped);
    }

    /// Returns the expiry below which visits are dropped at `now`, so that the clock may go back a little without a
    /// consequence.
    fn floor(&self, now: i64) -> i64 {
        now.saturating_sub(self.window.bucket)
    }

    /// Returns what was dropped since the last call.
    pub(super) fn take_dropped(&mut self) -> Vec<Period> {
        std::mem::take(&mut self.dropped)
    }

    /// Returns whether all visits of the site and of the client are in memory.
    pub(super) fn knows(&self, site: &str, client: &[ClientKey], now: i64) -> bool {
        now > self.unknown_until
            || (self.sites.contains_key(site) && client.iter().all(|key| self.holds(key)))
    }

    fn holds(&self, key: &ClientKey) -> bool {
        self.recent.clients.contains_key(key) || self.earlier.clients.contains_key(key)
    }

    /// Returns a client's visits, and keeps them for another period.
    fn seen(&mut self, key: &ClientKey) -> Option<&mut Expiries> {
        if let Some(expiries) = self.earlier.clients.remove(key) {
            self.recent.put(*key, expiries);
        }
        self.recent.clients.get_mut(key)
    }

    /// Counts the visits at `now`. Of what is unknown only those that wait count.
    pub(super) fn count(
        &mut self,
        site: &str,
        client: &[ClientKey],
        now: i64,
        waiting: &Unwritten,
    ) -> Visits {
        let (end, is_unknown) = (self.window.end(now), now <= self.unknown_until);
        let mut visits = Visits::default();
        for key in client {
            visits.client += match self.seen(key) {
                Some(expiries) => within(expiries, now, end),
                None if is_unknown => waiting.iter().filter(|visit| is_of(visit, key)).count() as u64,
                None => 0,
            };
        }
        visits.client = visits.client.min(COUNT_CEILING);
        visits.site = match self.sites.get(site) {
            Some(buckets) => {
                buckets.iter().filter(|(at, _)| (now..=end).contains(at)).map(|(_, visits)| visits).sum()
            }
            None if is_unknown => waiting.iter().filter(|visit| visit.site == site).count() as u64,
            None => 0,
        };
        visits
    }

    /// Adds a visit. That of a client or site that is unknown is read from where it is written.
    pub(super) fn add(&mut self, visit: &Visit, now: i64) {
        let is_known = now > self.unknown_until;
        if is_known {
            self.dropped_to = self.dropped_to.max(self.unknown_until);
        }
        let floor = self.floor(now);
        if let Some(key) = ClientKey::parse(&visit.client)
            && (self.seen(&key).is_some() || is_known)
        {
            self.recent.latest = self.recent.latest.max(visit.expires_at);
            let expiries = self.recent.clients.entry(key).or_default();
            expiries.insert(expiries.partition_point(|known| *known <= visit.expires_at), visit.expires_at);
            while expiries.len() as u64 > COUNT_CEILING || expiries.front().is_some_and(|at| *at < floor) {
                expiries.pop_front();
                self.dropped_to = self.dropped_to.max(floor);
            }
        }
        match self.sites.get_mut(&visit.site) {
            Some(buckets) => {
                add_to(buckets, visit.bucket, 1);
                while buckets.front().is_some_and(|(at, _)| *at < floor) {
                    buckets.pop_front();
                    self.dropped_to = self.dropped_to.max(floor);
                }
            }
            None if is_known => {
                self.sites.insert(visit.site.clone(), Buckets::from([(visit.bucket, 1)]));
            }
            None => {}
        }
    }

    /// Takes over all visits of a site and a client: the written ones and those that wait.
    pub(super) fn learn(&mut self, site: &str, client: &[ClientKey], rows: VisitRows, waiting: &Unwritten) {
        let clients = client.iter().filter(|key| !self.holds(key)).map(|key| (*key, Vec::new())).collect();
        let sites =
            if self.sites.contains_key(site) { None } else { Some((site.to_owned(), Buckets::new())) };
        self.take_over(clients, sites.into_iter().collect(), rows, waiting);
    }

    /// Takes over all visits of all sites and clients: after that nothing is unknown.
    pub(super) fn learn_all(&mut self, rows: VisitRows, waiting: &Unwritten) {
        let clients =
            rows.clients.iter().map(|(key, _)| key).chain(waiting.iter().map(|visit| &visit.client));
        let clients = clients.filter_map(|key| ClientKey::parse(key)).filter(|key| !self.holds(key));
        let clients = clients.map(|key| (key, Vec::new())).collect();
        let sites = rows.sites.iter().map(|(site, ..)| site).chain(waiting.iter().map(|visit| &visit.site));
        let sites = sites.filter(|site| !self.sites.contains_key(*site));
        let sites = sites.map(|site| (site.clone(), Buckets::new())).collect();
        self.take_over(clients, sites, rows, waiting);
        self.unknown_until = i64::MIN;
    }

    /// Adds `clients` and `sites`, which were not in memory, with those of the visits that are theirs.
    fn take_over(
        &mut self,
        mut clients: HashMap<ClientKey, Vec<i64>>,
        mut sites: HashMap<String, Buckets>,
        rows: VisitRows,
        waiting: &Unwritten,
    ) {
        let written = rows.clients.iter().map(|(key, expires_at)| (key, *expires_at));
        let unwritten = waiting.iter().map(|visit| (&visit.client, visit.expires_at));
        for (key, expires_at) in written.chain(unwritten) {
            if let Some(expiries) = ClientKey::parse(key).and_then(|key| clients.get_mut(&key)) {
                expiries.push(expires_at);
            }
        }
        let written = rows
            .sites
            .iter()
            .map(|(site, at, visits)| (site, *at, u64::try_from(*visits).unwrap_or_default()));
        let unwritten = waiting.iter().map(|visit| (&visit.site, visit.bucket, 1));
        for (site, expires_at, visits) in written.chain(unwritten) {
            if let Some(buckets) = sites.get_mut(site) {
                add_to(buckets, expires_at, visits);
            }
        }
        for (key, mut expiries) in clients {
            expiries.sort_unstable();
            self.recent.put(key, expiries.into());
        }
        self.sites.extend(sites);
    }
}

fn is_of(visit: &Visit, key: &ClientKey) -> bool {
    ClientKey::parse(&visit.client).as_ref() == Some(key)
}

/// Returns how many of `expiries` are from `now` to `end`.
fn within(expiries: &Expiries, now: i64, end: i64) -> u64 {
    let until = expiries.partition_point(|at| *at <= end);
    until.saturating_sub(expiries.partition_point(|at| *at < now)) as u64
}

/// Adds visits to the bucket that expires at `expires_at`.
fn add_to(buckets: &mut Buckets, expires_at: i64, visits: u64) {
    match buckets.iter_mut().rev().find(|(at, _)| *at == expires_at) {
        Some((_, known)) => *known += visits,
        None => buckets.push_back((expires_at, visits)),
    }
}
