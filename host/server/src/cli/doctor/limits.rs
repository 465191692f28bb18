//! Limits of open files, threads, memory and address space, those that this process has: run it as the host is run.

use std::thread;

use bulkhead_config::{Config, sandbox::Allocator};
use bulkhead_os::cgroup;
use bulkhead_service::MachineFinding;
use rustix::process::{Resource, getrlimit};

/// What a finding about limits is called.
pub(super) const CHECK: &str = "limits";
/// Files that a host has open besides the connections of its public listeners: databases, models, components, those of
/// operators.
const OTHER_FILES: u64 = 256;
/// Threads of a host besides those for each processor.
const OTHER_THREADS: u64 = 64;
/// Threads for each processor: of the runtime, for models, for proofs of work, of a compilation.
const THREADS_A_PROCESSOR: u64 = 4;
/// The least memory of a host with one service and one app, bytes.
const LEAST_MEMORY: u64 = 256 << 20;

/// Checks the limits that do not depend on the configuration.
pub(super) fn examine() -> [MachineFinding; 2] {
    let of_user = getrlimit(Resource::Nproc).current;
    let of_groups = cgroup::lowest_limit(cgroup::PROCESSES);
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let threads = of_user.into_iter().chain(of_groups).min();
    [of_threads(threads, processors), of_memory(cgroup::lowest_limit(cgroup::MEMORY))]
}

/// Judges a limit of threads; `None` means that there is no limit.
fn of_threads(limit: Option<u64>, processors: u64) -> MachineFinding {
    let needed = OTHER_THREADS + THREADS_A_PROCESSOR * processors;
    match limit {
        Some(limit) if limit < needed => MachineFinding::warning(
            CHECK,
            format!(
                "{limit} threads may run, and a host needs up to {needed}; raise ulimit -u, or TasksMax and LimitNPROC of \
                 the unit"
            ),
        ),
        Some(limit) => MachineFinding::fine(CHECK, format!("{limit} threads may run")),
        None => MachineFinding::fine(CHECK, "threads have no limit"),
    }
}

/// Judges a limit of memory, bytes.
fn of_memory(limit: Option<u64>) -> MachineFinding {
    match limit {
        Some(limit) if limit < LEAST_MEMORY => MachineFinding::warning(
            CHECK,
            format!(
                "the control group allows {} MiB of memory, and a host with one service and one app needs {}; raise \
                 memory.max (MemoryMax of the unit)",
                limit >> 20,
                LEAST_MEMORY >> 20
            ),
        ),
        Some(limit) => {
            MachineFinding::fine(CHECK, format!("the control group allows {} MiB of memory", limit >> 20))
        }
        None => MachineFinding::fine(CHECK, "no control group limits memory"),
    }
}

/// Checks whether as many files may be open as the configuration lets connections be.
pub(super) fn of_open_files(config: &Config) -> MachineFinding {
    judge_files(getrlimit(Resource::Nofile).current, config.server.max_connections)
}

fn judge_files(limit: Option<u64>, connections: usize) -> MachineFinding {
    let needed = OTHER_FILES.saturating_add(connections as u64);
    match limit {
        Some(limit) if limit < needed => MachineFinding::warning(
            CHECK,
            format!(
                "{limit} files may be open, and server.max_connections = {connections} needs {needed}; raise ulimit -n \
                 (LimitNOFILE of the unit), or lower the key"
            ),
        ),
        Some(limit) => MachineFinding::fine(CHECK, format!("{limit} files may be open")),
        None => MachineFinding::fine(CHECK, "open files have no limit"),
    }
}

/// Judges whether the engine of the configuration got the address space of its instance pool.
pub(super) fn of_address_space(allocator: Allocator, is_pooled: bool) -> MachineFinding {
    match (allocator, is_pooled) {
        (Allocator::OnDemand, _) => {
            MachineFinding::fine(CHECK, "instances are allocated on demand, as sandbox.allocator says")
        }
        (_, true) => MachineFinding::fine(CHECK, "the address space of the instance pool can be reserved"),
        (_, false) => MachineFinding::warning(
            CHECK,
            "the address space of the instance pool cannot be reserved, so that instances are allocated on demand, which is \
             slower; raise ulimit -v (LimitAS of the unit), or lower slots.*.max_concurrent",
        ),
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_service::Severity::{Fine, Warning};

    use super::*;

    #[test]
    fn low_limits_name_what_to_raise() {
        for (found, severity, named) in [
            (of_threads(Some(67), 1), Warning, "TasksMax"),
            (of_threads(Some(68), 1), Fine, "68"),
            (of_threads(None, 1), Fine, "no limit"),
            (of_memory(Some(LEAST_MEMORY - 1)), Warning, "memory.max"),
            (of_memory(Some(LEAST_MEMORY)), Fine, "256 MiB"),
            (of_memory(None), Fine, "no control group"),
            (judge_files(Some(1279), 1024), Warning, "LimitNOFILE"),
            (judge_files(Some(1280), 1024), Fine, "1280"),
            (judge_files(None, 1024), Fine, "no limit"),
            (of_address_space(Allocator::Auto, false), Warning, "LimitAS"),
            (of_address_space(Allocator::Auto, true), Fine, "can be reserved"),
            (of_address_space(Allocator::OnDemand, false), Fine, "sandbox.allocator"),
        ] {
            assert_eq!(found.severity, severity, "{found:?}");
            assert!(found.text.contains(named), "{found:?}");
        }
    }
}
