//! Dispatches the ledger's calls to one of three stores.

use super::deadline::in_time;
use super::high_water::HighWater;
use super::memory::Memory;
use super::postgres::Postgres;
use super::records::{Claim, Id, Rows, Swept, Visit, VisitRows, Visits, Window};
use super::sqlite::Sqlite;
use super::{PoolStats, StorageError};
use std::sync::Arc;

/// The store of the rows.
pub(super) enum Store {
    Sqlite(Sqlite),
    Postgres(Arc<Postgres>),
    Memory(Memory),
}

impl Store {
    /// Returns the written visits that count at `now`: those of all the client's keys, and those of the site.
    pub(super) async fn visits(
        &self,
        site: &str,
        client: &[String],
        now: i64,
        window: Window,
    ) -> Result<Visits, StorageError> {
        match self {
            Self::Sqlite(store) => store.in_time(store.visits(site, client, now, window)).await,
            Self::Postgres(store) => store.in_time(store.visits(site, client)).await,
            Self::Memory(store) => Ok(store.visits(site, client, now, window)),
        }
    }

    /// Returns whether other hosts write to the store, or it counts visits itself.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Self::Sqlite(_))
    }

    /// Returns the written visits that [`Self::visits`] counts, for a store that is not shared.
    pub(super) async fn visit_rows(
        &self,
        site: &str,
        client: &[String],
        now: i64,
        window: Window,
    ) -> Result<VisitRows, StorageError> {
        match self {
            Self::Sqlite(store) => store.in_time(store.visit_rows(site, client, now, window)).await,
            Self::Postgres(_) | Self::Memory(_) => Ok(VisitRows::default()),
        }
    }

    /// Returns the written visits of all sites and `most` clients that count at `now`, for a store that is not shared.
    pub(super) async fn all_visit_rows(
        &self,
        now: i64,
        window: Window,
        most: usize,
    ) -> Result<VisitRows, StorageError> {
        match self {
            Self::Sqlite(store) => in_time(store.all_visit_rows(now, window, most)).await,
            Self::Postgres(_) | Self::Memory(_) => Ok(VisitRows::default()),
        }
    }

    /// Writes a batch in one transaction; writing it again changes nothing.
    pub(super) async fn write(&self, batch: &[Arc<Visit>], window: Window) -> Result<(), StorageError> {
        match self {
            Self::Sqlite(store) => store.in_time(store.write(batch)).await,
            Self::Postgres(store) => store.in_time(store.write(batch, window)).await,
            Self::Memory(store) => store.write(batch),
        }
    }

    /// Returns the number of spends that are remembered at `now`.
    pub(super) async fn spent(&self, id: &Id, now: i64) -> Result<u32, StorageError> {
        match self {
            Self::Sqlite(store) => store.in_time(store.spent(id, now)).await,
            Self::Postgres(store) => store.in_time(store.spent(id)).await,
            Self::Memory(store) => Ok(store.spent(id, now)),
        }
    }

    /// Writes spends and returns their number: zero if none was left.
    pub(super) async fn claim(&self, claim: Claim) -> Result<u64, StorageError> {
        match self {
            Self::Sqlite(store) => store.in_time(store.claim(claim)).await,
            Self::Postgres(store) => store.in_time(store.claim(&claim)).await,
            Self::Memory(store) => store.claim(&claim),
        }
    }

    /// Counts a failure and returns the number including it.
    pub(super) async fn fail(&self, id: &Id, expires_at: i64) -> Result<u32, StorageError> {
        match self {
            Self::Sqlite(store) => store.in_time(store.fail(id, expires_at)).await,
            Self::Postgres(store) => store.in_time(store.fail(id, expires_at)).await,
            Self::Memory(store) => store.fail(id, expires_at),
        }
    }

    /// Returns the number of rows that have not expired at `now`.
    pub(super) async fn rows(&self, now: i64) -> Result<Rows, StorageError> {
        match self {
            Self::Sqlite(store) => in_time(store.rows(now)).await,
            Self::Postgres(store) => in_time(store.rows()).await,
            Self::Memory(store) => Ok(store.rows(now)),
        }
    }

    /// Deletes rows that expired before `now`; none while another host does so, or when the clocks of host and database
    /// differ too much.
    pub(super) async fn sweep(&self, now: i64) -> Result<Option<Swept>, StorageError> {
        match self {
            Self::Sqlite(store) => store.sweep(now).await.map(Some),
            Self::Postgres(store) => store.sweep().await,
            Self::Memory(store) => Ok(Some(store.sweep(now))),
        }
    }

    pub(super) async fn ping(&self) -> Result<(), StorageError> {
        match self {
            Self::Sqlite(store) => store.in_time(store.ping()).await,
            Self::Postgres(store) => store.in_time(store.ping()).await,
            Self::Memory(_) => Ok(()),
        }
    }

    /// Returns up to what time expired rows have been deleted; none where hosts share a database and its clock.
    pub(super) fn high_water(&self) -> Option<&HighWater> {
        match self {
            Self::Sqlite(store) => Some(store.high_water()),
            Self::Postgres(_) => None,
            Self::Memory(store) => Some(store.high_water()),
        }
    }

    /// Returns by how much the host's clock was ahead of the database's at the last check, milliseconds.
    pub(super) fn skew(&self) -> i64 {
        match self {
            Self::Postgres(store) => store.skew(),
            Self::Sqlite(_) | Self::Memory(_) => 0,
        }
    }

    pub(super) fn has_been_reached(&self) -> bool {
        match self {
            Self::Memory(_) => true,
            Self::Sqlite(store) => store.is_open(),
            Self::Postgres(store) => store.is_prepared(),
        }
    }

    /// Returns why the disk of the store takes nothing, if it does not.
    pub(super) fn disk_fault(&self) -> Option<&'static str> {
        match self {
            Self::Sqlite(store) => store.disk_fault(),
            Self::Postgres(_) | Self::Memory(_) => None,
        }
    }

    pub(super) fn pool_stats(&self) -> PoolStats {
        match self {
            Self::Sqlite(store) => store.pool_stats(),
            Self::Postgres(store) => store.pool_stats(),
            Self::Memory(_) => PoolStats::default(),
        }
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
            Self::Memory(_) => {}
        }
    }
}
