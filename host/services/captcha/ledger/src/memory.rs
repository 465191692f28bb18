//! Stores the ledger in memory, for tests and benches: it is lost at the end, and a full ledger refuses calls.

use super::StorageError;
use super::high_water::HighWater;
use super::records::{COUNT_CEILING, Claim, Id, Rows, Swept, Visit, Visits, Window};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows that are held at most, roughly 100 MB of spends.
const MAX_ROWS: usize = 1_000_000;

#[derive(Default)]
pub(super) struct Memory {
    rows: Mutex<Tables>,
    high_water: HighWater,
}

/// Expiries, by what they belong to.
#[derive(Default)]
struct Tables {
    clients: HashMap<String, VecDeque<i64>>,
    sites: HashMap<String, VecDeque<(i64, u64)>>,
    spends: HashMap<String, VecDeque<i64>>,
    failures: HashMap<String, (i64, u32)>,
    visits: usize,
    spent: usize,
}

impl Memory {
    fn rows_mut(&self) -> MutexGuard<'_, Tables> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn high_water(&self) -> &HighWater {
        &self.high_water
    }

    pub(super) fn visits(&self, site: &str, client: &[String], now: i64, window: Window) -> Visits {
        let rows = self.rows_mut();
        let counts = now..=window.end(now);
        let of = |key: &String| {
            rows.clients.get(key).into_iter().flatten().filter(|at| counts.contains(*at)).count()
        };
        let buckets = rows.sites.get(site).into_iter().flatten();
        Visits {
            client: client.iter().map(|key| of(key) as u64).sum::<u64>().min(COUNT_CEILING),
            site: buckets.filter(|(at, _)| counts.contains(at)).map(|(_, visits)| visits).sum(),
        }
    }

    pub(super) fn write(&self, batch: &[Arc<Visit>]) -> Result<(), StorageError> {
        let mut rows = self.rows_mut();
        rows.admit(batch.len())?;
        for visit in batch {
            rows.visits += 1;
            rows.clients.entry(visit.client.clone()).or_default().push_back(visit.expires_at);
            let buckets = rows.sites.entry(visit.site.clone()).or_default();
            match buckets.back_mut() {
                Some((expires_at, visits)) if *expires_at == visit.bucket => *visits += 1,
                _ => buckets.push_back((visit.bucket, 1)),
            }
        }
        Ok(())
    }

    pub(super) fn spent(&self, id: &Id, now: i64) -> u32 {
        let rows = self.rows_mut();
        let spent = rows.spends.get(id.as_str()).map_or(0, |expiries| live(expiries, now));
        u32::try_from(spent).unwrap_or(u32::MAX)
    }

    pub(super) fn claim(&self, claim: &Claim) -> Result<u64, StorageError> {
        let mut rows = self.rows_mut();
        if claim.is_late() || (claim.expires_at < self.high_water.mark() && !claim.issued_here) {
            return Ok(0);
        }
        rows.admit(claim.spends as usize)?;
        let expiries = rows.spends.entry(claim.id.as_str().to_owned()).or_default();
        let left = u64::from(claim.limit).saturating_sub(live(expiries, claim.now));
        let spends = left.min(u64::from(claim.spends)) as usize;
        expiries.extend(std::iter::repeat_n(claim.expires_at, spends));
        rows.spent += spends;
        Ok(spends as u64)
    }

    pub(super) fn fail(&self, id: &Id, expires_at: i64) -> Result<u32, StorageError> {
        let mut rows = self.rows_mut();
        rows.admit(1)?;
        let (_, failures) = rows.failures.entry(id.as_str().to_owned()).or_insert((expires_at, 0));
        *failures = failures.saturating_add(1);
        Ok(*failures)
    }

    pub(super) fn rows(&self, now: i64) -> Rows {
        let rows = self.rows_mut();
        let count = |lists: &HashMap<String, VecDeque<i64>>| {
            lists.values().flatten().filter(|expires_at| **expires_at >= now).count() as u64
        };
        Rows { captcha_request: count(&rows.clients), invalidated_payload: count(&rows.spends) }
    }

    pub(super) fn sweep(&self, now: i64) -> Swept {
        let mut guard = self.rows_mut();
        self.high_water.raise(now);
        let rows = &mut *guard;
        let (visits, spent, failures) = (rows.visits, rows.spent, rows.failures.len());
        rows.visits = expire(&mut rows.clients, now);
        rows.spent = expire(&mut rows.spends, now);
        rows.failures.retain(|_, (expires_at, _)| *expires_at >= now);
        let mut site_visits = 0;
        rows.sites.retain(|_, buckets| {
            let before = buckets.len();
            buckets.retain(|(expires_at, _)| *expires_at >= now);
            site_visits += (before - buckets.len()) as u64;
            !buckets.is_empty()
        });
        Swept {
            captcha_request: visits.saturating_sub(rows.visits) as u64,
            invalidated_payload: spent.saturating_sub(rows.spent) as u64,
            failures: (failures - rows.failures.len()) as u64,
            site_visits,
        }
    }
}

impl Tables {
    fn admit(&self, rows: usize) -> Result<(), StorageError> {
        if self.visits + self.spent + self.failures.len() + rows > MAX_ROWS {
            return Err(StorageError::Unavailable("the ledger in memory is full: use a database".into()));
        }
        Ok(())
    }
}

/// Returns how many of `expiries` have not passed at `now`.
fn live(expiries: &VecDeque<i64>, now: i64) -> u64 {
    expiries.iter().filter(|expires_at| **expires_at >= now).count() as u64
}

/// Drops expired entries and returns how many are left.
fn expire(lists: &mut HashMap<String, VecDeque<i64>>, now: i64) -> usize {
    let mut left = 0;
    lists.retain(|_, expiries| {
        expiries.retain(|expires_at| *expires_at >= now);
        left += expiries.len();
        !expiries.is_empty()
    });
    left
}
