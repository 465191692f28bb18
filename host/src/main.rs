//! The `bulkhead` binary: the platform with its five services.

use std::process::ExitCode;

use bulkhead::services::list::BULKHEAD;
use bulkhead_server::cli;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Settings of the allocator, which it reads at its start. By default threads are spread over four arenas a processor, each
/// of which keeps megabytes of freed pages for ten seconds of use. Threads have caches of their own, so that four arenas are
/// enough. One a processor (`percpu_arena`) is not wanted: where a process is bound to some processors, the allocator turns
/// that off and says so on standard error at every start.
// SAFETY: the symbol is jemalloc's own, a pointer to a string that ends with a zero byte.
#[allow(unsafe_code)]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static ALLOCATOR_SETTINGS: &[u8; 30] = b"narenas:4,dirty_decay_ms:1000\0";

fn main() -> ExitCode {
    cli::run(&BULKHEAD)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tikv_jemalloc_ctl::{Access as _, AsName as _};

    #[test]
    fn allocator_reads_its_settings() {
        let decay: isize = b"arenas.dirty_decay_ms\0".name().read().unwrap();
        let arenas: u32 = b"opt.narenas\0".name().read().unwrap();
        assert_eq!((decay, arenas), (1000, 4));
    }
}
