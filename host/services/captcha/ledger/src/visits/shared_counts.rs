//! Counts the visits that wait here, beside those in a database that hosts share.

use crate::records::{COUNT_CEILING, Visit, Visits};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A client with as many visits is looked up in the database once a [`RECOUNT`] only; in between its own visits here
/// are added.
const BUSY: u64 = 256;

/// How old a busy client's count may be.
const RECOUNT: Duration = Duration::from_secs(1);

/// The site and client of a count.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct CountKey {
    pub(super) site: String,
    pub(super) client: Vec<String>,
}

/// A busy client's count in the database.
struct Count {
    written: Visits,
    at: Instant,
}

/// The numbers of visits that wait, and the last counts of busy clients.
#[derive(Default)]
pub(super) struct SharedCounts {
    clients: HashMap<String, u64>,
    sites: HashMap<String, u64>,
    busy: HashMap<CountKey, Count>,
}

impl SharedCounts {
    /// Returns a busy client's count in the database, unless it is too old.
    pub(super) fn known(&self, count_key: &CountKey) -> Option<Visits> {
        self.busy.get(count_key).filter(|count| count.at.elapsed() < RECOUNT).map(|count| count.written)
    }

    /// Remembers what the database counted, if the client is busy.
    pub(super) fn remember(&mut self, count_key: CountKey, written: Visits) {
        if written.client >= BUSY {
            self.busy.insert(count_key, Count { written, at: Instant::now() });
        }
    }

    /// Adds the visits that wait to the `written` ones.
    pub(super) fn count(&self, count_key: &CountKey, written: Visits) -> Visits {
        let here: u64 = count_key.client.iter().filter_map(|key| self.clients.get(key)).sum();
        Visits {
            client: (written.client + here).min(COUNT_CEILING),
            site: written.site + self.sites.get(&count_key.site).copied().unwrap_or_default(),
        }
    }

    /// Counts a visit that waits from now on.
    pub(super) fn add(&mut self, visit: &Visit) {
        *self.clients.entry(visit.client.clone()).or_default() += 1;
        *self.sites.entry(visit.site.clone()).or_default() += 1;
    }

    /// Moves the visits of a batch that was written to the busy clients' counts.
    pub(super) fn written(&mut self, batch: &[Arc<Visit>]) {
        self.busy.retain(|_, count| count.at.elapsed() < RECOUNT);
        let (mut clients, mut sites) = (HashMap::new(), HashMap::new());
        for visit in batch {
            *clients.entry(visit.client.as_str()).or_default() += 1;
            *sites.entry(visit.site.as_str()).or_default() += 1;
        }
        for (count_key, count) in &mut self.busy {
            count.written.client +=
                count_key.client.iter().filter_map(|key| clients.get(key.as_str())).sum::<u64>();
            count.written.site += sites.get(count_key.site.as_str()).copied().unwrap_or_default();
        }
        take(&mut self.clients, clients);
        take(&mut self.sites, sites);
    }
}

/// Subtracts `taken` from the counts, and removes keys at zero.
fn take(counts: &mut HashMap<String, u64>, taken: HashMap<&str, u64>) {
    for (key, taken) in taken {
        if let Some(count) = counts.get_mut(key) {
            *count = count.saturating_sub(taken);
            if *count == 0 {
                counts.remove(key);
            }
        }
    }
}
