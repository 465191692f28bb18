//! Holds the metrics of this process and its machine; [`crate::catalog`] explains the names kept from the Java service.

mod procfs;

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use prometheus::{Gauge, IntCounter, Registry, Result, process_collector::ProcessCollector};
use rustix::{
    fs::statvfs,
    process::{Resource, getrlimit},
};
use tikv_jemalloc_ctl::{epoch, stats};

use self::procfs::MachineTime;

use crate::{
    catalog, logs,
    series::{Series, Summary},
};

/// Shortest time over which processor use is measured; the clock of `/proc` ticks each 10 ms.
const CPU_WINDOW: Duration = Duration::from_secs(1);
/// Label of the file system that holds the data folder, whose path is not shown.
const DATA_DIR: &str = "data_dir";
/// Labels of `jvm_info` but the version.
const RUNTIME: &str = "bulkhead";
/// Where Micrometer expects the allocator and where WebAssembly memory.
const HEAP: [&str; 2] = ["heap", "allocator"];
const WASM: [&str; 2] = ["nonheap", "wasm"];

/// Linear memory of running components, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WasmMemory {
    /// In use by instances.
    pub used: u64,
    /// Set aside for them and resident.
    pub committed: u64,
    /// At most; `None` without a bound.
    pub max: Option<u64>,
}

/// A file system, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// The folder that it was asked for.
    pub path: PathBuf,
    /// Size.
    pub total: u64,
    /// What the host may still fill.
    pub free: u64,
}

/// The families about the process.
pub(super) struct Process {
    data_dir: PathBuf,
    cpus: f64,
    used: Series<Gauge, 2>,
    committed: Series<Gauge, 2>,
    max: Series<Gauge, 2>,
    threads: Gauge,
    daemon_threads: Gauge,
    started: Series<Gauge, 1>,
    ready: Series<Gauge, 1>,
    uptime: Gauge,
    cpu_usage: Gauge,
    machine_usage: Gauge,
    load_average: Gauge,
    open_files: Gauge,
    max_files: Gauge,
    disk_free: Series<Gauge, 1>,
    disk_total: Series<Gauge, 1>,
    log_dropped: IntCounter,
    measured: Mutex<Measured>,
}

/// When processor use was last measured, and the processor time up to then.
struct Measured {
    at: Instant,
    process: Duration,
    machine: MachineTime,
}

impl Measured {
    fn now() -> Option<Self> {
        Some(Self { at: Instant::now(), process: procfs::cpu_time()?, machine: procfs::machine_time()? })
    }
}

impl Process {
    pub(super) fn register(registry: &Registry, data_dir: PathBuf) -> Result<Self> {
        registry.register(Box::new(ProcessCollector::for_self()))?;
        Series::<Summary, 0>::register(&catalog::GC_PAUSE, registry)?.get([]);
        let gauge = |family| Series::<Gauge, 0>::register(family, registry).map(|series| series.get([]));
        let cpus = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
        gauge(&catalog::CPU_COUNT)?.set(cpus);
        Series::<Gauge, 3>::register(&catalog::JVM_INFO, registry)?
            .get([RUNTIME, RUNTIME, env!("CARGO_PKG_VERSION")])
            .set(1.0);
        let nothing =
            || Measured { at: Instant::now(), process: Duration::ZERO, machine: MachineTime::default() };
        let process = Self {
            data_dir,
            cpus,
            used: Series::register(&catalog::MEMORY_USED, registry)?,
            committed: Series::register(&catalog::MEMORY_COMMITTED, registry)?,
            max: Series::register(&catalog::MEMORY_MAX, registry)?,
            threads: gauge(&catalog::LIVE_THREADS)?,
            daemon_threads: gauge(&catalog::DAEMON_THREADS)?,
            started: Series::register(&catalog::STARTED, registry)?,
            ready: Series::register(&catalog::READY, registry)?,
            uptime: gauge(&catalog::UPTIME)?,
            cpu_usage: gauge(&catalog::CPU_USAGE)?,
            machine_usage: gauge(&catalog::SYSTEM_CPU)?,
            load_average: gauge(&catalog::LOAD_AVERAGE)?,
            open_files: gauge(&catalog::OPEN_FILES)?,
            max_files: gauge(&catalog::MAX_FILES)?,
            disk_free: Series::register(&catalog::DISK_FREE, registry)?,
            disk_total: Series::register(&catalog::DISK_TOTAL, registry)?,
            log_dropped: Series::<IntCounter, 0>::register(&catalog::LOG_DROPPED, registry)?.get([]),
            measured: Mutex::new(Measured::now().unwrap_or_else(nothing)),
        };
        process.set_wasm_memory(WasmMemory::default());
        Ok(process)
    }

    pub(super) fn set_wasm_memory(&self, memory: WasmMemory) {
        self.used.get(WASM).set(memory.used as f64);
        self.committed.get(WASM).set(memory.committed as f64);
        self.max.get(WASM).set(memory.max.map_or(-1.0, |max| max as f64));
    }

    /// Records that the services are built.
    pub(super) fn started(&self) {
        self.set_since_start(&self.started);
    }

    /// Records that the host answers.
    pub(super) fn ready(&self) {
        self.set_since_start(&self.ready);
    }

    fn set_since_start(&self, family: &Series<Gauge, 1>) {
        if let Some(uptime) = procfs::uptime() {
            family.get([RUNTIME]).set(uptime.as_secs_f64());
        }
    }

    pub(super) fn disk_space(&self) -> Option<DiskSpace> {
        let disk = statvfs(&self.data_dir).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        let (total, free) = (bytes(disk.f_blocks), bytes(disk.f_bavail));
        Some(DiskSpace { path: self.data_dir.clone(), total, free })
    }

    /// Updates the figures that are only read at a scrape; one that cannot be read keeps its last value.
    pub(super) fn refresh(&self) {
        self.refresh_heap();
        self.refresh_cpu();
        self.log_dropped.inc_by(logs::dropped().saturating_sub(self.log_dropped.get()));
        if let Some(threads) = procfs::threads() {
            self.threads.set(threads as f64);
            self.daemon_threads.set(threads.saturating_sub(1) as f64);
        }
        set(&self.load_average, procfs::load_average());
        set(&self.uptime, procfs::uptime().map(|uptime| uptime.as_secs_f64()));
        set(&self.open_files, procfs::open_files().map(|files| files as f64));
        set(&self.max_files, getrlimit(Resource::Nofile).current.map(|files| files as f64));
        if let Some(disk) = self.disk_space() {
            self.disk_free.get([DATA_DIR]).set(disk.free as f64);
            self.disk_total.get([DATA_DIR]).set(disk.total as f64);
        }
    }

    fn refresh_heap(&self) {
        // The allocator's figures change only when its epoch advances.
        if epoch::advance().is_ok() {
            set(&self.used.get(HEAP), stats::allocated::read().ok().map(|bytes| bytes as f64));
            set(&self.committed.get(HEAP), stats::resident::read().ok().map(|bytes| bytes as f64));
        }
        let max = procfs::memory_limit().map_or(-1.0, |bytes| bytes as f64);
        self.max.get(HEAP).set(max);
    }

    fn refresh_cpu(&self) {
        let Some(now) = Measured::now() else { return };
        let mut last = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = now.at.saturating_duration_since(last.at);
        if elapsed >= CPU_WINDOW {
            let share = now.process.saturating_sub(last.process).as_secs_f64() / elapsed.as_secs_f64();
            self.cpu_usage.set((share / self.cpus).min(1.0));
            let ticks =
                |time: fn(&MachineTime) -> u64| time(&now.machine).saturating_sub(time(&last.machine));
            let share = ticks(|time| time.busy) as f64 / ticks(|time| time.total).max(1) as f64;
            self.machine_usage.set(share.min(1.0));
            *last = now;
        }
    }
}

fn set(gauge: &Gauge, value: Option<f64>) {
    if let Some(value) = value {
        gauge.set(value);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::exposition::Format;

    fn value(text: &str, series: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{series} is missing in\n{text}")).parse().unwrap()
    }

    #[test]
    fn names_that_dashboards_know_have_figures() {
        let registry = Registry::new();
        let process = Process::register(&registry, PathBuf::from("/")).unwrap();
        process.set_wasm_memory(WasmMemory { used: 7, committed: 9, max: None });
        process.started();
        process.ready();
        process.refresh();
        let text = Format::Text.encode(&registry.gather()).unwrap();
        for series in [
            "jvm_memory_used_bytes{area=\"heap\",id=\"allocator\"}",
            "jvm_memory_committed_bytes{area=\"heap\",id=\"allocator\"}",
            "jvm_memory_max_bytes{area=\"heap\",id=\"allocator\"}",
            "jvm_threads_live_threads",
            "jvm_threads_daemon_threads",
            concat!(
                "jvm_info{runtime=\"bulkhead\",vendor=\"bulkhead\",version=\"",
                env!("CARGO_PKG_VERSION"),
                "\"}"
            ),
            "application_started_time_seconds{main_application_class=\"bulkhead\"}",
            "application_ready_time_seconds{main_application_class=\"bulkhead\"}",
            "process_files_open_files",
            "process_files_max_files",
            "process_uptime_seconds",
            "process_start_time_seconds",
            "system_cpu_count",
            "disk_free_bytes{path=\"data_dir\"}",
            "disk_total_bytes{path=\"data_dir\"}",
        ] {
            assert!(value(&text, series) > 0.0, "{series}");
        }
        assert_eq!(value(&text, "jvm_memory_used_bytes{area=\"nonheap\",id=\"wasm\"}"), 7.0);
        assert_eq!(value(&text, "jvm_memory_max_bytes{area=\"nonheap\",id=\"wasm\"}"), -1.0);
        for series in ["jvm_gc_pause_seconds_count", "jvm_gc_pause_seconds_sum", "jvm_gc_pause_seconds_max"] {
            assert_eq!(value(&text, series), 0.0);
        }
        assert!((0.0..=1.0).contains(&value(&text, "process_cpu_usage")));
        assert!((0.0..=1.0).contains(&value(&text, "system_cpu_usage")));
        assert!(value(&text, "system_load_average_1m") >= 0.0);
        let threads = value(&text, "jvm_threads_live_threads");
        assert_eq!(value(&text, "jvm_threads_daemon_threads"), threads - 1.0);
    }

    #[test]
    fn missing_folder_has_no_disk_space() {
        let process = Process::register(&Registry::new(), PathBuf::from("/no/such/folder")).unwrap();
        assert_eq!(process.disk_space(), None);
    }
}
