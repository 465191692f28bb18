//! Replaces a database that does not answer by memory, where the operator allows calls without it.

use super::StorageError;
use super::memory::Memory;
use super::records::{Claim, Id};
use super::store::Store;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Spends and failures while the database does not answer, kept by this process until it ends.
#[derive(Default)]
pub(super) struct MemoryFallback {
    memory: Memory,
    granted: AtomicU64,
}

impl MemoryFallback {
    /// Returns the number of claims that were granted without the database.
    pub(super) fn granted(&self) -> u64 {
        self.granted.load(Relaxed)
    }

    /// Returns the spends in the database, if it answers, plus those in memory.
    pub(super) async fn spent(&self, store: &Store, id: &Id, now: i64) -> Result<u32, StorageError> {
        let here = self.memory.spent(id, now);
        match store.spent(id, now).await {
            Err(StorageError::Unavailable(_)) => Ok(here),
            spent => spent.map(|spent| spent.saturating_add(here)),
        }
    }

    /// Claims in the database what has not been spent in memory; in memory if it does not answer.
    pub(super) async fn claim(&self, store: &Store, claim: Claim) -> Result<u64, StorageError> {
        let left = claim.limit.saturating_sub(self.memory.spent(&claim.id, claim.now));
        if left == 0 {
            return Ok(0);
        }
        let durable = Claim { limit: left, spends: claim.spends.min(left), ..claim.clone() };
        match store.claim(durable).await {
            Err(StorageError::Unavailable(_)) => {
                let spent = self.memory.claim(&claim)?;
                self.granted.fetch_add(u64::from(spent > 0), Relaxed);
                Ok(spent)
            }
            spent => spent,
        }
    }

    /// Counts a failure in the database; in memory if it does not answer.
    pub(super) async fn fail(&self, store: &Store, id: &Id, expires_at: i64) -> Result<u32, StorageError> {
        match store.fail(id, expires_at).await {
            Err(StorageError::Unavailable(_)) => self.memory.fail(id, expires_at),
            failures => failures,
        }
    }

    /// Removes expired entries.
    pub(super) fn sweep(&self, now: i64) {
        self.memory.sweep(now);
    }
}
