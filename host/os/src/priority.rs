//! The priority of threads that compute for long, below that of threads that answer calls.

/// Lowers the priority of the calling thread, and of the threads and processes that it starts from then on. Only Linux has
/// priorities of threads; elsewhere nothing changes. Errors are ignored: the thread goes on as before.
///
/// With `steps` of niceness above its present one the thread has less of a processor that others of the same control group
/// or session want, too: beside one other thread a third with 3, a tenth with 10. Of an idle processor it has all.
///
/// Niceness alone hardly helps a thread that works for microseconds and sleeps: when it wakes, it waits until the slice of
/// the thread that computes has ended, for milliseconds. So the thread asks for the longest slices, which are ended for
/// threads with usual ones (Linux 6.12 and later); they do not change how much of a processor it gets.
pub fn lower(steps: i32) {
    #[cfg(target_os = "linux")]
    linux::lower(steps);
    #[cfg(not(target_os = "linux"))]
    let _ = steps;
}

#[cfg(target_os = "linux")]
mod linux {
    use libc::{SCHED_BATCH, SCHED_OTHER, SYS_sched_getattr, SYS_sched_setattr, sched_attr};
    use rustix::process::{getpriority_process, setpriority_process};

    /// The niceness of the lowest priority.
    pub(super) const LOWEST: i32 = 19;
    /// The longest slice that a thread can ask for, nanoseconds.
    pub(super) const SLICE: u64 = 100_000_000;

    pub(super) fn lower(steps: i32) {
        let present = getpriority_process(None).unwrap_or(0);
        let _ = setpriority_process(None, present.saturating_add(steps).min(LOWEST));
        let Some(mut own) = attributes() else { return };
        // Other policies have no slices.
        if matches!(i32::try_from(own.sched_policy), Ok(SCHED_OTHER | SCHED_BATCH)) {
            own.sched_runtime = SLICE;
            // SAFETY: the kernel reads as much of the structure as its first member says.
            #[allow(unsafe_code)]
            let _ = unsafe { libc::syscall(SYS_sched_setattr, 0, &raw const own, 0) };
        }
    }

    /// Returns how the calling thread is scheduled. Kernels without slices of a thread show them as 0.
    pub(super) fn attributes() -> Option<sched_attr> {
        let size = u32::try_from(size_of::<sched_attr>()).ok()?;
        let mut own = sched_attr {
            size,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        // SAFETY: the kernel writes at most `size` bytes.
        #[allow(unsafe_code)]
        let answer = unsafe { libc::syscall(SYS_sched_getattr, 0, &raw mut own, size, 0) };
        (answer == 0).then_some(own)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::thread;

    use super::linux::{LOWEST, SLICE, attributes};
    use super::*;

    #[test]
    fn lowered_threads_have_the_longest_slices() {
        let lowered = || {
            let before = attributes().unwrap();
            lower(3);
            let started = thread::spawn(|| attributes().unwrap()).join().unwrap();
            (before, attributes().unwrap(), started)
        };
        let (before, after, started) = thread::spawn(lowered).join().unwrap();
        let slice = if before.sched_runtime == 0 { 0 } else { SLICE };
        for own in [after, started] {
            assert_eq!(own.sched_nice, (before.sched_nice + 3).min(LOWEST));
            assert_eq!((own.sched_policy, own.sched_runtime), (before.sched_policy, slice));
        }
        assert_eq!(attributes().unwrap().sched_nice, before.sched_nice, "another thread");
    }
}
