//! Limits of open files, threads, memory and address space: those of the running host, or else those of this command.

use std::{fs, thread};

use bulkhead_config::{Config, sandbox::Allocator};
use bulkhead_os::cgroup;
use bulkhead_service::MachineFinding;
use rustix::process::{Resource, getrlimit};

/// What a finding about limits is called.
pub(super) const CHECK: &str = "limits";
/// What findings about the limits of this command begin with.
const OWN: &str = "this command";
/// Files that a host has open besides the connections of its public listeners: databases, models, components, those of
/// operators.
const OTHER_FILES: u64 = 256;
/// Open files without which no host starts.
const LEAST_FILES: u64 = 32;
/// Threads of a host besides those for each processor.
const OTHER_THREADS: u64 = 64;
/// Threads for each processor: of the runtime, for models, for proofs of work, of a compilation.
const THREADS_A_PROCESSOR: u64 = 4;
/// The least memory of a host with one service and one app, bytes.
const LEAST_MEMORY: u64 = 256 << 20;

/// A process whose limits are judged; `None` means that there is no limit.
#[derive(Debug, PartialEq, Eq)]
struct ProcessLimits {
    /// What the findings begin with.
    of: String,
    files: Option<u64>,
    threads: Option<u64>,
    memory: Option<u64>,
}

impl ProcessLimits {
    /// Returns those of this command.
    fn own() -> Self {
        let of_groups = cgroup::lowest_limit(cgroup::PROCESSES);
        Self {
            of: OWN.to_owned(),
            files: getrlimit(Resource::Nofile).current,
            threads: getrlimit(Resource::Nproc).current.into_iter().chain(of_groups).min(),
            memory: cgroup::lowest_limit(cgroup::MEMORY),
        }
    }

    /// Returns those of a running host; `None` if they cannot be read.
    fn of_host(process: u32) -> Option<Self> {
        let id = process.to_string();
        let table = fs::read_to_string(format!("/proc/{id}/limits")).ok()?;
        let of_groups = cgroup::lowest_limit_of(&id, cgroup::PROCESSES);
        Some(Self {
            of: format!("the running host (process {id})"),
            files: soft_limit(&table, "Max open files")?,
            threads: soft_limit(&table, "Max processes")?.into_iter().chain(of_groups).min(),
            memory: cgroup::lowest_limit_of(&id, cgroup::MEMORY),
        })
    }

    fn judge(&self, config: Option<&Config>) -> impl Iterator<Item = MachineFinding> {
        let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let files = config.map(|config| judge_files(self.files, config.server.max_connections));
        let found = files.into_iter().chain([of_threads(self.threads, processors), of_memory(self.memory)]);
        found.map(move |finding| MachineFinding { text: format!("{}: {}", self.of, finding.text), ..finding })
    }
}

/// Returns a limit that a process has now, given a table as `proc_pid_limits(5)` describes it; `None` if it is not named.
fn soft_limit(table: &str, name: &str) -> Option<Option<u64>> {
    let soft = table.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?;
    if soft == "unlimited" { Some(None) } else { soft.parse().ok().map(Some) }
}

/// Checks the limits of the running hosts with these process ids, or else of this command, which should be run as the host
/// is. Without a configuration, only those that do not depend on it.
pub(super) fn examine(config: Option<&Config>, hosts: &[u32]) -> Vec<MachineFinding> {
    let mut limits: Vec<ProcessLimits> =
        hosts.iter().filter_map(|host| ProcessLimits::of_host(*host)).collect();
    if limits.is_empty() {
        limits.push(ProcessLimits::own());
    }
    limits.iter().flat_map(|limits| limits.judge(config)).collect()
}

/// Returns whether this command may open the few files that its own checks need.
pub(super) fn may_open_files() -> bool {
    getrlimit(Resource::Nofile).current.is_none_or(|files| files >= LEAST_FILES)
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

/// Judges whether as many files may be open as the configuration lets connections be.
fn judge_files(limit: Option<u64>, connections: usize) -> MachineFinding {
    let needed = OTHER_FILES.saturating_add(connections as u64);
    match limit {
        Some(limit) if limit < LEAST_FILES => MachineFinding::failure(
            CHECK,
            format!(
                "{limit} files may be open, and no host starts with fewer than {LEAST_FILES}; raise ulimit -n (LimitNOFILE of \
                 the unit)"
            ),
        ),
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

/// Judges whether the engine of the configuration got the address space of its instance pool in this process.
pub(super) fn of_address_space(allocator: Allocator, is_pooled: bool) -> MachineFinding {
    match (allocator, is_pooled) {
        (Allocator::OnDemand, _) => {
            MachineFinding::fine(CHECK, "instances are allocated on demand, as sandbox.allocator says")
        }
        (_, true) => {
            MachineFinding::fine(CHECK, "this command can reserve the address space of the instance pool")
        }
        (_, false) => MachineFinding::warning(
            CHECK,
            "this command cannot reserve the address space of the instance pool; a host that is run so allocates instances on \
             demand, which is slower: raise ulimit -v (LimitAS of the unit), or lower slots.*.max_concurrent",
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::process;

    use bulkhead_service::Severity::{Failure, Fine, Warning};

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
            (judge_files(Some(31), 1024), Failure, "fewer than 32"),
            (judge_files(Some(1279), 1024), Warning, "LimitNOFILE"),
            (judge_files(Some(1280), 1024), Fine, "1280"),
            (judge_files(None, 1024), Fine, "no limit"),
            (of_address_space(Allocator::Auto, false), Warning, "LimitAS"),
            (of_address_space(Allocator::Auto, true), Fine, "can reserve"),
            (of_address_space(Allocator::OnDemand, false), Fine, "sandbox.allocator"),
        ] {
            assert_eq!(found.severity, severity, "{found:?}");
            assert!(found.text.contains(named), "{found:?}");
        }
    }

    #[test]
    fn limits_of_a_process_are_read() {
        let table = "Limit                     Soft Limit           Hard Limit           Units     \n\
                     Max processes             unlimited            unlimited            processes \n\
                     Max open files            1024                 1048576              files     \n";
        assert_eq!(soft_limit(table, "Max open files"), Some(Some(1024)));
        assert_eq!(soft_limit(table, "Max processes"), Some(None));
        assert_eq!(soft_limit(table, "Max address space"), None);
        let (own, host) = (ProcessLimits::own(), ProcessLimits::of_host(process::id()).unwrap());
        assert_eq!(ProcessLimits { of: OWN.to_owned(), ..host }, own, "this process has one set of limits");
        assert_eq!(ProcessLimits::of_host(u32::MAX), None);
        let found = examine(None, &[]);
        assert!(found.len() == 2 && found.iter().all(|finding| finding.text.starts_with(OWN)), "{found:?}");
    }
}
