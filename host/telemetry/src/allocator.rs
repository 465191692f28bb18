//! Settings of the allocator, jemalloc, for a process that runs for long.

use tikv_jemalloc_ctl::{Access, AsName as _, background_thread};

/// Time after which the pages of freed memory go back to the system, milliseconds.
const DECAY_MILLIS: isize = 1000;

/// Returns the pages of freed memory to the system soon, by threads of the allocator. By default an arena does that only
/// while it is used, so that what a thread of the blocking pool has freed stays resident while the thread is idle.
pub fn return_free_pages() {
    let decay: [&[u8]; 2] = [b"arenas.dirty_decay_ms\0", b"arena.0.dirty_decay_ms\0"];
    for name in decay {
        // Fails only where the allocator is another one, which has settings of its own.
        let _ = name.name().write(DECAY_MILLIS);
    }
    let _ = background_thread::write(true);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn arenas_return_pages_after_a_second() {
        return_free_pages();
        let decay: isize = b"arenas.dirty_decay_ms\0".name().read().unwrap();
        assert_eq!((decay, background_thread::read().unwrap()), (DECAY_MILLIS, true));
    }
}
