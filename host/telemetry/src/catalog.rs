//! Lists every metric of the platform; services bring their own.
//!
//! # Names kept for existing dashboards
//! The `jvm_*`, `process_*` and `disk_*` families carry the names that dashboards of Java services use, each with a true
//! figure of this process:
//!
//! | name | figure |
//! | --- | --- |
//! | `jvm_memory_used_bytes{area="heap",id="allocator"}` | bytes that the allocator has handed out |
//! | `jvm_memory_committed_bytes{area="heap",id="allocator"}` | bytes of the allocator that are resident |
//! | `jvm_memory_max_bytes{area="heap",id="allocator"}` | the control group's memory limit, else the machine's memory |
//! | `jvm_memory_*_bytes{area="nonheap",id="wasm"}` | linear memory of running components: in use, set aside, and at most (-1 without a bound) |
//! | `jvm_gc_pause_seconds_*` | 0: nothing is collected, nothing pauses |
//! | `jvm_threads_live_threads` | threads of the operating system |
//! | `jvm_threads_daemon_threads` | those but the main one, which alone keeps the process alive |
//! | `jvm_info{runtime="bulkhead",vendor="bulkhead"}` | 1, with the version of this program |
//! | `process_cpu_usage` | share of all processors used since the last scrape, 0 to 1 |
//! | `system_cpu_usage` | share of the machine's processors used since the last scrape, 0 to 1 |
//! | `application_*_time_seconds{main_application_class="bulkhead"}` | time from the start of the process |
//! | `disk_*_bytes{path="data_dir"}` | the file system that holds the data folder |

use crate::{
    bounds::{REMOTE_TIMES, TIMES},
    family::{Kind, families},
};

/// Bounds for times of calls, seconds: from an empty call to the longest deadline of a slot.
const CALL_TIMES: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1,
    0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 600.0,
];
/// Bounds for compile times, seconds.
const COMPILE_TIMES: &[f64] = &[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

families! {
    BUILD_INFO: Kind::Gauge, "bulkhead_build_info" ["version"] "",
        "The running build.";

    CALLS: Kind::Counter, "bulkhead_calls_total" ["slot", "outcome"] "",
        "Calls of components by outcome.";
    INSTANTIATE: Kind::Histogram(TIMES), "bulkhead_instantiate_seconds" ["slot"] "seconds",
        "Time to make a component instance.";
    GUEST: Kind::Histogram(CALL_TIMES), "bulkhead_guest_seconds" ["slot"] "seconds",
        "Time inside the called export.";
    CALL: Kind::Histogram(CALL_TIMES), "bulkhead_call_seconds" ["slot"] "seconds",
        "Time of a call from admission to outcome.";
    QUEUE: Kind::Histogram(TIMES), "bulkhead_queue_seconds" ["slot"] "seconds",
        "Time that a call waited for a permit.";
    MEMORY_HIGH_WATER: Kind::Gauge, "bulkhead_memory_high_water_bytes" ["slot"] "bytes",
        "Most memory that one call used since the start.";
    IN_FLIGHT: Kind::Gauge, "bulkhead_in_flight" ["slot"] "",
        "Calls running now.";
    QUEUE_DEPTH: Kind::Gauge, "bulkhead_queue_depth" ["slot"] "",
        "Calls waiting for a permit now.";
    POOL_SLOTS: Kind::Gauge, "bulkhead_pool_slots_in_use" ["kind"] "",
        "Slots of the pooling allocator in use.";
    VERSION_INFO: Kind::Gauge, "bulkhead_version_info" ["slot", "role", "version", "component", "source"] "",
        "The versions that are loaded: the active one, and the candidate.";
    CANDIDATE_WEIGHT: Kind::Gauge, "bulkhead_candidate_weight_percent" ["slot"] "",
        "Share of the calls that a candidate answers.";
    CIRCUIT_REFUSED: Kind::Counter, "bulkhead_circuit_refused_total" ["slot"] "",
        "Calls that an open circuit breaker refused.";
    SHADOW: Kind::Counter, "bulkhead_shadow_calls_total" ["slot", "result"] "",
        "Copies of calls for a candidate in shadow, by how its answer compares.";
    ROLLOUTS: Kind::Counter, "bulkhead_rollouts_total" ["slot", "change"] "",
        "Changes of the versions that answer.";
    SLOT_GENERATION: Kind::Gauge, "bulkhead_slot_generation" ["slot", "state"] "",
        "Generation of a slot that hosts share: the desired one, and the one applied here.";
    SHARED_REACHABLE: Kind::Gauge, "bulkhead_shared_state_reachable" [] "",
        "Whether the shared database answers: 1 or 0.";
    SHARED_FOLLOWS: Kind::Counter, "bulkhead_shared_state_follows_total" ["slot", "result"] "",
        "Synchronizations of a slot with the shared state, by result.";
    PULLS: Kind::Counter, "bulkhead_registry_pulls_total" ["outcome"] "",
        "Components pulled from registries, and attempts at it, by outcome.";
    PULL_TIME: Kind::Histogram(REMOTE_TIMES), "bulkhead_registry_pull_seconds" [] "seconds",
        "Time of a pull from a registry.";
    LOG_DROPPED: Kind::Counter, "bulkhead_log_lines_dropped_total" [] "",
        "Log lines dropped because their reader was too slow or they could not be written.";
    GUEST_LOG_DROPPED: Kind::Counter, "bulkhead_guest_log_dropped_bytes_total" ["slot"] "bytes",
        "Log text of components beyond their rate, not written.";
    GUEST_LOG_LINES: Kind::Counter, "bulkhead_guest_log_lines_total" ["slot", "level"] "",
        "Log lines that components wrote.";
    COMPILE_CACHE: Kind::Counter, "bulkhead_compile_cache_total" ["result"] "",
        "Look-ups in the compiled-code cache.";
    COMPILE: Kind::Histogram(COMPILE_TIMES), "bulkhead_compile_seconds" [] "seconds",
        "Time to compile a component.";

    CONNECTIONS: Kind::Gauge, "bulkhead_connections" [] "",
        "Open connections of clients.";
    CONNECTION_ERRORS: Kind::Counter, "bulkhead_connection_errors_total" ["kind"] "",
        "Connections that ended before a request was parsed.";
    HTTP_REQUESTS: Kind::Counter, "bulkhead_http_requests_total" ["service", "route", "method", "status"] "",
        "Answered requests.";
    HTTP_SERVER: Kind::Summary, "http_server_requests_seconds"
        ["error", "exception", "method", "outcome", "status", "uri"] "seconds",
        "Time to answer a request.";
    HTTP_ACTIVE: Kind::LongTask, "http_server_requests_active_seconds" [] "seconds",
        "Requests being answered.";

    MEMORY_USED: Kind::Gauge, "jvm_memory_used_bytes" ["area", "id"] "bytes",
        "Memory in use: heap is the allocator, nonheap is WebAssembly memory.";
    MEMORY_COMMITTED: Kind::Gauge, "jvm_memory_committed_bytes" ["area", "id"] "bytes",
        "Memory taken from the system: heap is the allocator, nonheap is WebAssembly memory.";
    MEMORY_MAX: Kind::Gauge, "jvm_memory_max_bytes" ["area", "id"] "bytes",
        "Most memory there may be, -1 without a bound.";
    GC_PAUSE: Kind::Summary, "jvm_gc_pause_seconds" [] "seconds",
        "Always 0: the host collects no garbage.";
    LIVE_THREADS: Kind::Gauge, "jvm_threads_live_threads" [] "threads",
        "Threads of the operating system.";
    DAEMON_THREADS: Kind::Gauge, "jvm_threads_daemon_threads" [] "threads",
        "Threads that do not keep the process alive: all but the main one.";
    JVM_INFO: Kind::Gauge, "jvm_info" ["runtime", "vendor", "version"] "",
        "The running build under the name that dashboards know.";

    STARTED: Kind::Gauge, "application_started_time_seconds" ["main_application_class"] "seconds",
        "Time from the start of the process until its services were built.";
    READY: Kind::Gauge, "application_ready_time_seconds" ["main_application_class"] "seconds",
        "Time from the start of the process until it answered.";

    UPTIME: Kind::Gauge, "process_uptime_seconds" [] "seconds",
        "Time since the process began.";
    CPU_USAGE: Kind::Gauge, "process_cpu_usage" [] "",
        "Share of all processors that the process used since the last scrape, 0 to 1.";
    OPEN_FILES: Kind::Gauge, "process_files_open_files" [] "files",
        "Open file descriptors.";
    MAX_FILES: Kind::Gauge, "process_files_max_files" [] "files",
        "Most file descriptors there may be.";
    SYSTEM_CPU: Kind::Gauge, "system_cpu_usage" [] "",
        "Share of the machine's processors that was used since the last scrape, 0 to 1.";
    LOAD_AVERAGE: Kind::Gauge, "system_load_average_1m" [] "",
        "Tasks that run or wait for a processor, averaged over a minute.";
    CPU_COUNT: Kind::Gauge, "system_cpu_count" [] "",
        "Processors that the process may use.";
    DISK_FREE: Kind::Gauge, "disk_free_bytes" ["path"] "bytes",
        "Space that the host may still fill.";
    DISK_TOTAL: Kind::Gauge, "disk_total_bytes" ["path"] "bytes",
        "Size of the file system.";

    PROCESS_CPU: Kind::Counter, "process_cpu_seconds_total" [] "seconds",
        "Total user and system CPU time spent in seconds.";
    PROCESS_FDS: Kind::Gauge, "process_open_fds" [] "",
        "Number of open file descriptors.";
    PROCESS_MAX_FDS: Kind::Gauge, "process_max_fds" [] "",
        "Maximum number of open file descriptors.";
    PROCESS_VIRTUAL: Kind::Gauge, "process_virtual_memory_bytes" [] "bytes",
        "Virtual memory size in bytes.";
    PROCESS_RESIDENT: Kind::Gauge, "process_resident_memory_bytes" [] "bytes",
        "Resident memory size in bytes.";
    PROCESS_START: Kind::Gauge, "process_start_time_seconds" [] "seconds",
        "Start time of the process since unix epoch in seconds.";
    PROCESS_THREADS: Kind::Gauge, "process_threads" [] "",
        "Number of OS threads in the process.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_under_both_schemes() {
        let exposed: Vec<String> = ALL.iter().flat_map(|family| family.exposed()).collect();
        assert_eq!(exposed.iter().collect::<BTreeSet<_>>().len(), exposed.len());
        let meters: BTreeSet<String> = ALL.iter().map(|family| family.meter_name()).collect();
        assert_eq!(meters.len(), ALL.len());
    }

    #[test]
    fn names_follow_their_type_and_unit() {
        for family in ALL {
            let counter = family.kind == Kind::Counter;
            assert_eq!(family.name.ends_with("_total"), counter, "{}", family.name);
            let base = family.name.trim_end_matches("_total");
            assert!(base.ends_with(family.unit), "{} lacks its unit", family.name);
        }
    }

    /// `slots.NAME.deadline_ms` is ten minutes at most.
    #[test]
    fn long_times_have_a_bucket() {
        fn reaches(bounds: &[f64]) -> bool {
            bounds.is_sorted() && bounds.contains(&20.0) && bounds.last() == Some(&600.0)
        }
        for family in [&CALL, &GUEST] {
            let is_long = matches!(family.kind, Kind::Histogram(bounds) if reaches(bounds));
            assert!(is_long, "{}: {:?}", family.name, family.kind);
        }
    }
}
