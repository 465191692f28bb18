//! Reads figures of a process from `/proc`, and its limits from `/sys/fs/cgroup`.
//!
//! Formats: `proc_pid_stat(5)`, `proc_pid_status(5)`, `proc_uptime(5)`, the kernel's `cgroup-v2` page.

use std::{fs, time::Duration};

/// Ticks a second in `/proc/PID/stat`; Linux shows 100 on every architecture it runs on today.
const TICKS_A_SECOND: u64 = 100;
/// Fields of `/proc/PID/stat`, counted from the one after the command name.
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const START_TICKS: usize = 19;
/// A version 1 control group without a limit shows a number near this.
const NO_LIMIT: u64 = 1 << 62;

/// Returns the processor time of the process so far, in user and system mode.
pub(super) fn cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    Some(stat_field(&stat, USER_TICKS)? + stat_field(&stat, SYSTEM_TICKS)?)
}

/// Returns the time since the process began.
pub(super) fn uptime() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let machine: f64 = uptime.split(' ').next()?.parse().ok()?;
    Duration::try_from_secs_f64(machine).ok()?.checked_sub(stat_field(&stat, START_TICKS)?)
}

/// Processor time of the machine so far, in ticks of all processors together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MachineTime {
    /// Not idle.
    pub busy: u64,
    /// Busy and idle.
    pub total: u64,
}

/// Returns the processor time of the machine so far.
pub(super) fn machine_time() -> Option<MachineTime> {
    machine_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

/// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; what guests used is in
/// user.
fn machine_ticks(stat: &str) -> Option<MachineTime> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let ticks: Vec<u64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let total = ticks.iter().sum();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    Some(MachineTime { busy: total - idle, total })
}

/// Returns the number of tasks that run or wait for a processor, averaged over a minute.
pub(super) fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Returns the number of threads of the process.
pub(super) fn threads() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    named(&status, "Threads:")
}

/// Returns the number of open file descriptors of the process.
pub(super) fn open_files() -> Option<usize> {
    // Reading the folder opens one more.
    fs::read_dir("/proc/self/fd").ok().map(|files| files.count().saturating_sub(1))
}

/// Returns the control group's memory limit, else the machine's memory; bytes.
pub(super) fn memory_limit() -> Option<u64> {
    const FILES: [&str; 2] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit = FILES.iter().find_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    limit.filter(|limit| *limit < NO_LIMIT).or_else(|| {
        let memory = fs::read_to_string("/proc/meminfo").ok()?;
        named(&memory, "MemTotal:").map(|kib| kib * 1024)
    })
}

/// Returns a field that is measured in ticks. The command name before it may hold blanks and brackets.
fn stat_field(stat: &str, field: usize) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: u64 = fields.split(' ').nth(field)?.parse().ok()?;
    Some(Duration::from_millis(ticks * (1_000 / TICKS_A_SECOND)))
}

/// Returns the number after a name at the beginning of a line.
fn named(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_fields_follow_an_odd_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 10 0 0 0 250 50 0 0 20 0 4 0 12345 1000 10";
        assert_eq!(stat_field(stat, USER_TICKS), Some(Duration::from_millis(2_500)));
        assert_eq!(stat_field(stat, SYSTEM_TICKS), Some(Duration::from_millis(500)));
        assert_eq!(stat_field(stat, START_TICKS), Some(Duration::from_millis(123_450)));
        assert_eq!(stat_field(stat, 99), None);
    }

    #[test]
    fn idle_ticks_are_not_busy() {
        let stat = "cpu  10 20 30 400 50 6 7 8 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(machine_ticks(stat), Some(MachineTime { busy: 81, total: 531 }));
        assert_eq!(machine_ticks("cpu0 1 1 1 1 1 1 1 1\n"), None);
        assert_eq!(machine_ticks("cpu  1 x\n"), None);
    }

    #[test]
    fn named_numbers() {
        assert_eq!(named("Name:\tx\nThreads:\t12\n", "Threads:"), Some(12));
        assert_eq!(named("MemTotal:       16 kB\n", "MemTotal:"), Some(16));
        assert_eq!(named("Name:\tx\n", "Threads:"), None);
    }
}
