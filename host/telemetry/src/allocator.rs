//! Settings of the allocator, jemalloc, for a process that runs for long.

/// Returns freed pages to the system by a thread of the allocator. Otherwise an arena returns them only while it is used:
/// what a thread of the blocking pool has freed would stay resident for as long as the thread is idle.
pub fn return_free_pages() {
    // Fails only where the allocator was built without its threads.
    let _ = tikv_jemalloc_ctl::background_thread::write(true);
}
