//! Reservations of the instance pool for slots that are added while the host runs.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bulkhead_config::slots::Limits;

use super::pool::{self, PoolSize};

/// The error of a slot for which the instance pool has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// Too few calls are left.
    #[error(
        "the instance pool has room for {free} more concurrent calls, and the slot's limits allow {wanted}; \
         lower max_concurrent or shadow_calls, or raise sandbox.calls and restart the host"
    )]
    Calls {
        /// Concurrent calls of the slot.
        wanted: usize,
        /// Concurrent calls that are left.
        free: usize,
    },
    /// A call may use a larger memory than the pool has.
    #[error(
        "a memory of the instance pool has at most {0} bytes; lower memory_bytes, or raise sandbox.memory_bytes and \
         restart the host"
    )]
    Memory(usize),
    /// A call may use a larger table than the pool has.
    #[error(
        "a table of the instance pool has at most {0} elements; lower table_elements, or raise sandbox.table_elements and \
         restart the host"
    )]
    Table(usize),
}

/// Calls of the instance pool that are kept for a slot until this is dropped.
#[derive(Debug)]
pub struct PoolReservation {
    calls: usize,
    free: Arc<AtomicUsize>,
}

impl Drop for PoolReservation {
    fn drop(&mut self) {
        self.free.fetch_add(self.calls, Ordering::AcqRel);
    }
}

/// The part of the instance pool that is left for slots that are added while the host runs.
#[derive(Debug)]
pub(super) struct Room {
    size: PoolSize,
    free: Arc<AtomicUsize>,
}

impl Room {
    /// Returns the room of a pool of this size, all of which belongs to slots that exist.
    pub(super) fn none(size: PoolSize) -> Self {
        Self { size, free: Arc::default() }
    }

    /// Adds the room for the calls of one more slot.
    pub(super) fn add(&self, limits: &Limits) {
        self.free.fetch_add(pool::calls(limits), Ordering::AcqRel);
    }

    /// Reserves the room for the calls of a slot.
    pub(super) fn reserve(&self, limits: &Limits) -> Result<PoolReservation, NoRoom> {
        let PoolSize { memory_bytes, table_elements, .. } = self.size;
        if limits.memory_bytes > memory_bytes {
            return Err(NoRoom::Memory(memory_bytes));
        }
        if limits.table_elements > table_elements {
            return Err(NoRoom::Table(table_elements));
        }
        let calls = pool::calls(limits);
        let take = |free: usize| free.checked_sub(calls);
        let taken = self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        taken.map_err(|free| NoRoom::Calls { wanted: calls, free })?;
        Ok(PoolReservation { calls, free: Arc::clone(&self.free) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn room_is_reserved_until_dropped() {
        let limits = &Limits::DEFAULT;
        let room = Room::none(PoolSize::of([limits]));
        let calls = limits.max_concurrent + limits.shadow_calls;
        assert_eq!(room.reserve(limits).unwrap_err(), NoRoom::Calls { wanted: calls, free: 0 });
        room.add(limits);
        let reserved = room.reserve(limits).unwrap();
        assert_eq!(room.reserve(limits).unwrap_err(), NoRoom::Calls { wanted: calls, free: 0 });
        drop(reserved);
        room.reserve(limits).unwrap();
    }

    #[test]
    fn larger_calls_than_the_pools_are_refused() {
        let size = PoolSize::of([&Limits::DEFAULT]);
        let room = Room::none(size);
        room.add(&Limits::DEFAULT);
        let memory = Limits { memory_bytes: size.memory_bytes + 1, ..Limits::DEFAULT };
        assert_eq!(room.reserve(&memory).unwrap_err(), NoRoom::Memory(size.memory_bytes));
        let table = Limits { table_elements: size.table_elements + 1, ..Limits::DEFAULT };
        assert_eq!(room.reserve(&table).unwrap_err(), NoRoom::Table(size.table_elements));
    }
}
