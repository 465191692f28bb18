//! The allocator of the component. Its first blocks come from memory that an instance has from its start: to grow memory
//! costs the host a change of a mapping for each fresh instance, which interrupts the other processors.
#![allow(unsafe_code)]

use core::{alloc::Layout, arch::wasm32::memory_grow, ptr};

use talc::{
    base::{Talc, binning::Binning},
    cell::TalcSyncCell,
    source::Source,
    wasm::WasmBinning,
};

/// Bytes of the static array: many times what a usual call needs. Pages that a call does not touch cost nothing.
const FIRST_BYTES: usize = 128 << 10;
/// Bytes of a page of WebAssembly.
const PAGE_BYTES: usize = 64 << 10;
/// Pages that the memory grows by at least, so that a large call grows it a few times.
const STEP_PAGES: usize = 8;
/// Bytes that the allocator needs of a region beside a block, rounded up.
const REGION_BYTES: usize = 4 << 10;

#[global_allocator]
static ALLOCATOR: TalcSyncCell<Memory, WasmBinning> = TalcSyncCell::new_wasm(Memory { is_fresh: true });

static mut FIRST: [u8; FIRST_BYTES] = [0; FIRST_BYTES];

/// The static array, then what the memory grows by.
#[derive(Debug)]
struct Memory {
    is_fresh: bool,
}

// SAFETY: no allocator is used in it.
unsafe impl Source for Memory {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        if talc.source.is_fresh {
            talc.source.is_fresh = false;
            // SAFETY: only this call uses the array, once.
            unsafe { talc.claim((&raw mut FIRST).cast(), FIRST_BYTES) };
            return Ok(());
        }
        let bytes = layout.size().saturating_add(layout.align()).saturating_add(REGION_BYTES);
        let needed = bytes.div_ceil(PAGE_BYTES);
        // Near the limit of memory what is needed may fit where a whole step does not.
        for pages in [needed.max(STEP_PAGES), needed] {
            let before = memory_grow::<0>(pages);
            if before != usize::MAX {
                let start = ptr::with_exposed_provenance_mut(before * PAGE_BYTES);
                // SAFETY: pages that the memory grew by are used by nothing else.
                return unsafe { talc.claim(start, pages * PAGE_BYTES) }.map(drop).ok_or(());
            }
        }
        Err(())
    }
}
