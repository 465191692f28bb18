//! The size of the pooling allocator, from the limits of all slots.

use bulkhead_config::{
    sandbox::{CORE_INSTANCES, MEMORIES, Sandbox, TABLES},
    slots::Limits,
};
use wasmtime::{Enabled, PoolingAllocationConfig};

/// Calls in addition to all slots' permits: self-tests and pooled instances.
const SPARE_CALLS: usize = 8;
/// Bytes of a WebAssembly page.
const PAGE_BYTES: usize = 64 << 10;
/// Memory of an instance that stays resident for the next one. It saves page faults where the kernel reports which
/// pages were written (6.7 and newer); elsewhere, clearing it costs more than it saves.
const KEEP_RESIDENT_BYTES: usize = 1 << 20;
/// The same for a table: one page, which is cleared without a system call. First-party components need no more.
const TABLE_KEEP_RESIDENT_BYTES: usize = 4 << 10;
/// The part of limited memory that all idle instances together may keep.
const KEPT_PART: u64 = 8;
/// Keeping less than this saves too little.
const LEAST_KEPT_BYTES: usize = 64 << 10;

/// What one component may have at most. The pool reserves memories and tables for every call, and counts core instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentLimits {
    /// Core instances, including adapters and lifted libraries.
    pub core_instances: usize,
    /// Linear memories.
    pub memories: usize,
    /// Tables.
    pub tables: usize,
}

impl ComponentLimits {
    /// The limits where the configuration sets none.
    pub const DEFAULT: Self = Self { core_instances: CORE_INSTANCES, memories: MEMORIES, tables: TABLES };

    /// Returns the limits of the configuration.
    pub const fn of(sandbox: &Sandbox) -> Self {
        Self { core_instances: sandbox.core_instances, memories: sandbox.memories, tables: sandbox.tables }
    }
}

/// The size of the pooling allocator for a set of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSize {
    /// Concurrent calls.
    pub calls: usize,
    /// Largest memory of a call, bytes.
    pub memory_bytes: usize,
    /// Largest table of a call, elements.
    pub table_elements: usize,
}

/// Returns the number of calls that a slot with these limits runs at once.
pub(super) fn calls(limits: &Limits) -> usize {
    limits.max_concurrent.saturating_add(limits.shadow_calls)
}

impl PoolSize {
    /// Returns the size for concurrent calls under all of `limits`.
    pub fn of<'a>(limits: impl IntoIterator<Item = &'a Limits>) -> Self {
        Self { calls: SPARE_CALLS, memory_bytes: PAGE_BYTES, table_elements: 1 }.with(limits)
    }

    /// Returns the size for concurrent calls under all of `limits` too.
    pub(super) fn with<'a>(self, limits: impl IntoIterator<Item = &'a Limits>) -> Self {
        limits.into_iter().fold(self, |size, limits| Self {
            calls: size.calls.saturating_add(calls(limits)),
            memory_bytes: size.memory_bytes.max(limits.memory_bytes.next_multiple_of(PAGE_BYTES)),
            table_elements: size.table_elements.max(limits.table_elements),
        })
    }

    /// Returns the bytes of an instance that stay resident for the next one, where the host may use so many bytes of memory.
    pub fn kept_bytes(&self, memory: Option<u64>) -> usize {
        let Some(memory) = memory else { return KEEP_RESIDENT_BYTES };
        let share = usize::try_from(memory / KEPT_PART).unwrap_or(usize::MAX).checked_div(self.calls);
        match share.unwrap_or(0) {
            share if share < LEAST_KEPT_BYTES => 0,
            share => share.min(KEEP_RESIDENT_BYTES),
        }
    }

    /// Returns the settings of a pool of this size, where the host may use so many bytes of memory.
    pub(super) fn configuration(
        &self,
        component: ComponentLimits,
        memory: Option<u64>,
    ) -> PoolingAllocationConfig {
        let ComponentLimits { core_instances, memories, tables } = component;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let each = |per_call: usize| count(self.calls.saturating_mul(per_call));
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(each(1))
            .total_core_instances(each(core_instances))
            .total_memories(each(memories))
            .total_tables(each(tables))
            .total_stacks(each(1))
            .max_core_instances_per_component(count(core_instances))
            .max_memories_per_component(count(memories))
            .max_tables_per_component(count(tables))
            .max_memories_per_module(count(memories))
            .max_tables_per_module(count(tables))
            .max_memory_size(self.memory_bytes)
            .table_elements(self.table_elements)
            .table_keep_resident(TABLE_KEEP_RESIDENT_BYTES)
            .pagemap_scan(Enabled::Auto);
        if PoolingAllocationConfig::is_pagemap_scan_available() {
            pool.linear_memory_keep_resident(self.kept_bytes(memory));
        }
        pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits {
        max_concurrent: 3,
        shadow_calls: 1,
        memory_bytes: (1 << 20) + 1,
        table_elements: 50,
        ..Limits::DEFAULT
    };
    const LARGE: Limits =
        Limits { max_concurrent: 5, memory_bytes: 2 << 20, table_elements: 10, ..Limits::DEFAULT };

    #[test]
    fn size_covers_concurrent_calls_of_all_slots() {
        let size = PoolSize::of([&SMALL, &LARGE]);
        assert_eq!(size.calls, 3 + 1 + 5 + Limits::DEFAULT.shadow_calls + SPARE_CALLS);
        assert_eq!((size.memory_bytes, size.table_elements), (2 << 20, 50));
    }

    #[test]
    fn memory_is_rounded_up_to_pages() {
        assert_eq!(PoolSize::of([&SMALL]).memory_bytes, (1 << 20) + PAGE_BYTES);
    }

    #[test]
    fn size_without_slots_covers_self_tests() {
        let size = PoolSize::of([]);
        assert_eq!(size, PoolSize { calls: SPARE_CALLS, memory_bytes: PAGE_BYTES, table_elements: 1 });
    }

    #[test]
    fn idle_instances_keep_part_of_memory() {
        let size = PoolSize { calls: 32, ..PoolSize::of([]) };
        for (memory, kept) in [
            (None, KEEP_RESIDENT_BYTES),
            (Some(1 << 40), KEEP_RESIDENT_BYTES),
            (Some(64 << 20), 256 << 10),
            (Some(16 << 20), LEAST_KEPT_BYTES),
            (Some((16 << 20) - 1), 0),
        ] {
            assert_eq!(size.kept_bytes(memory), kept, "{memory:?}");
        }
    }

    #[test]
    fn absurd_limits_do_not_overflow() {
        let absurd = Limits { max_concurrent: usize::MAX, ..SMALL };
        assert_eq!(PoolSize::of([&absurd, &LARGE]).calls, usize::MAX);
        PoolSize::of([&absurd]).configuration(ComponentLimits::DEFAULT, None);
    }
}
