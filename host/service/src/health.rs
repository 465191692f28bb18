//! The host's health. Background tasks probe its databases, so that no health check waits for one.

mod report;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use bulkhead_http::{
    lifecycle::{Lifecycle, Phase},
    tls::Certificates,
};
use bulkhead_os::{damaged_files::DamagedFiles, files};
use bulkhead_rollout::{Deploy, DeploymentRegistry, SharedView};
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

pub use report::{FailedCheck, Generations, ReadyReport};

/// Time between two probes of a database.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// Of so many probes of a healthy database, one writes too: a write costs a disk flush.
const PROBES_PER_WRITE: u32 = 5;
/// Time for which a database may be unreachable before the host reports that it is not ready.
const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// A database of a service that the host's health monitors. Its methods that are not futures must not block.
pub trait WatchedDatabase: fmt::Debug + Send + Sync + 'static {
    /// Checks whether the database has been reached since the start.
    fn has_been_reached(&self) -> bool;

    /// Checks that the database answers in time. The error's text is for the log.
    fn ping(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Checks that the database accepts a write in time. The error's text is for the log.
    fn probe(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Describes how the host's clock differs from the database's, if it does.
    fn clock_fault(&self) -> Option<String>;

    /// Describes why nothing can be written to its disk, in words that follow "the disk"; `None` where it can, or where the
    /// database is a server.
    fn disk_fault(&self) -> Option<&'static str>;

    /// Describes how calls are answered during an outage, and the setting that allows it; `None` when the host cannot serve
    /// without the database.
    fn outage_mode(&self) -> Option<&'static str>;
}

/// The state of a database at its last probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseState {
    /// Its name in health reports.
    pub name: &'static str,
    /// Whether it answered and accepted writes.
    pub answers: bool,
}

/// The host's health, from its lifecycle, its slots and its databases.
#[derive(Debug)]
pub struct HostHealth {
    lifecycle: Lifecycle,
    /// The services that have not started yet.
    starting: Mutex<BTreeSet<&'static str>>,
    /// Knows which slots cannot answer, and why.
    deployments: Arc<DeploymentRegistry>,
    databases: Mutex<Vec<Arc<MonitoredDatabase>>>,
    watchers: Mutex<JoinSet<()>>,
    /// What services report of parts that the host does without, by the name of the check.
    faults: Mutex<BTreeMap<String, String>>,
    /// The certificates of the host's listeners, by the table of the configuration that names them.
    certificates: Mutex<Vec<(&'static str, Arc<Certificates>)>>,
    damaged_files: DamagedFiles,
    data_dir: PathBuf,
}

/// A monitored database and the result of its last probes.
#[derive(Debug)]
struct MonitoredDatabase {
    name: &'static str,
    answers: AtomicBool,
    /// When it last answered; `None` before the first answer.
    last_answer: Mutex<Option<Instant>>,
    /// The database itself.
    watched: Box<dyn WatchedDatabase>,
}

impl MonitoredDatabase {
    async fn watch(self: Arc<Self>) {
        let (watched, mut clock_fault) = (&self.watched, None);
        for probe in 0_u32.. {
            let only_ping = self.answers.load(Ordering::Relaxed) && probe % PROBES_PER_WRITE != 0;
            let answer = if only_ping { watched.ping().await } else { watched.probe().await };
            let answers = answer.is_ok();
            if answers {
                *self.last_answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            }
            if self.answers.swap(answers, Ordering::Relaxed) != answers {
                let error = answer.err();
                tracing::warn!(database = self.name, answers, error, "the database's state has changed");
            }
            let fault = watched.clock_fault();
            if fault.is_some() != clock_fault.is_some() {
                tracing::warn!(database = self.name, fault, "the state of the host's clock has changed");
            }
            clock_fault = fault;
            tokio::time::sleep(PROBE_INTERVAL).await;
        }
    }

    /// Checks whether the outage has lasted longer than the grace period.
    fn is_lost(&self) -> bool {
        let last = *self.last_answer.lock().unwrap_or_else(PoisonError::into_inner);
        !self.answers.load(Ordering::Relaxed) && last.is_none_or(|last| last.elapsed() > GRACE_PERIOD)
    }

    /// Adds an outage, a fault of the disk and a clock difference to `report`.
    fn report(&self, report: &mut ReadyReport) {
        const LOST: &str = "the database does not answer or cannot be written";
        let name = self.name;
        match (self.is_lost(), self.watched.outage_mode(), self.watched.disk_fault()) {
            (true, Some(outage_mode), _) => report.degrade(name, format!("{LOST}; {outage_mode}")),
            // No other host has this file, and what does not need it is served.
            (true, None, Some(fault)) => {
                report.degrade(name, format!("{LOST}: its disk {fault}; calls that need it fail"));
            }
            (true, None, None) => report.fail(name, format!("{LOST}; see the log")),
            // What fits into its files is still written.
            (false, _, Some(fault)) => {
                report.degrade(name, format!("its disk {fault}; calls that write to it may fail"));
            }
            (false, _, None) => {}
        }
        if let Some(fault) = self.watched.clock_fault() {
            report.degrade(format!("{name} clock"), fault);
        }
    }
}

impl HostHealth {
    /// Returns the health of a host without databases, whose data folder is `data_dir`. `damaged_files` are those that are set
    /// aside.
    pub fn new(
        lifecycle: Lifecycle,
        deployments: Arc<DeploymentRegistry>,
        data_dir: PathBuf,
        damaged_files: DamagedFiles,
    ) -> Self {
        Self {
            lifecycle,
            starting: Mutex::default(),
            deployments,
            databases: Mutex::default(),
            watchers: Mutex::default(),
            faults: Mutex::default(),
            certificates: Mutex::default(),
            damaged_files,
            data_dir,
        }
    }

    /// Reports each of these services until it [has started](Self::service_started).
    pub fn await_services(&self, names: impl Iterator<Item = &'static str>) {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
    }

    /// Reports no longer that a service is starting.
    pub fn service_started(&self, name: &str) {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Replaces what a service reports: the faults of parts that the host does without, each with the name of its check,
    /// which begins with `prefix`.
    pub fn set_faults(&self, prefix: &str, faults: impl IntoIterator<Item = (String, String)>) {
        let mut known = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|check, _| !check.starts_with(prefix));
        known.extend(faults);
    }

    /// Returns where parts of the host record the damaged files that they set aside.
    pub const fn damaged_files(&self) -> &DamagedFiles {
        &self.damaged_files
    }

    /// Starts to report wrong dates of a certificate of the host's listeners, which this table of the configuration names.
    pub fn watch_certificate(&self, table: &'static str, certificates: Arc<Certificates>) {
        self.certificates.lock().unwrap_or_else(PoisonError::into_inner).push((table, certificates));
    }

    /// Starts to probe a database.
    pub fn watch(&self, name: &'static str, watched: Box<dyn WatchedDatabase>) {
        let answers = watched.has_been_reached();
        let last_answer = Mutex::new(answers.then(Instant::now));
        let database =
            Arc::new(MonitoredDatabase { name, answers: AtomicBool::new(answers), last_answer, watched });
        self.databases.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&database));
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).spawn(database.watch());
    }

    /// Stops the probes, and logs every slot whose state is not written.
    pub fn stop(&self) {
        for slot in self.deployments.all() {
            if let Some(reason) = slot.unsaved_reason() {
                tracing::error!(
                    slot = slot.slot().as_str(),
                    reason,
                    "the host stops before its state is written"
                );
            }
        }
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Reports whether requests should be sent to this host, and if not, why.
    pub fn report(&self) -> ReadyReport {
        let mut report = ReadyReport::default();
        match self.lifecycle.phase() {
            Phase::Ready => {}
            Phase::Starting => report.fail("lifecycle", "the host is starting"),
            Phase::Draining | Phase::Stopped => report.fail("lifecycle", "the host is draining"),
        }
        for service in self.starting.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            report.fail(format!("service {service}"), "it is starting");
        }
        for slot in self.deployments.starting() {
            report.fail(format!("slot {slot}"), "its component is not ready yet");
        }
        for slot in self.deployments.all() {
            let name = slot.slot().as_str();
            match slot.empty_reason() {
                // The host has started without it, so it also serves without it.
                Some(reason) if self.deployments.is_added(slot.slot()) => {
                    report.degrade(format!("slot {name}"), reason);
                }
                Some(reason) => report.fail(format!("slot {name}"), reason),
                None => {}
            }
            let reasons =
                [slot.unsaved_reason(), slot.fallback_reason(), slot.file_fault(), slot.uncompiled_reason()];
            for reason in reasons.into_iter().flatten() {
                report.degrade(format!("slot {name}"), reason);
            }
            if let Some(SharedView { desired, applied, behind, away }) = slot.shared() {
                report.slots.insert(name, Generations { desired, applied });
                if let Some(reason) = behind {
                    report.degrade(format!("slot {name}"), reason);
                }
                if let Some(reason) = away.filter(|_| !report.is_degraded("shared state")) {
                    report.degrade("shared state", reason);
                }
            }
        }
        if let Some(fault) = files::disk_fault(&self.data_dir) {
            report
                .degrade("data disk", format!("the disk of data_dir {fault}; what stores nothing is served"));
        }
        for database in self.databases.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            database.report(&mut report);
        }
        for (table, certificates) in self.certificates.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if let Some(fault) = certificates.date_fault(SystemTime::now()) {
                report.degrade(format!("certificate of {table}"), fault);
            }
        }
        for (file, aside) in self.damaged_files.all() {
            let shown = |path: &Path| path.strip_prefix(&self.data_dir).unwrap_or(path).display().to_string();
            let aside = shown(&aside);
            let reason =
                format!("it was damaged, and the host goes on without it; {aside} is the damaged one");
            report.degrade(format!("data file {}", shown(&file)), reason);
        }
        for (check, reason) in self.faults.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            report.degrade(check.clone(), reason.clone());
        }
        report
    }

    /// Describes each slot without a component that may answer.
    pub fn empty_slots(&self) -> Vec<String> {
        let slots = self.deployments.all();
        let described = |slot: &Arc<dyn Deploy>| {
            let reason = slot.empty_reason()?;
            Some(format!("slot {} has no component that may answer: {reason}", slot.slot()))
        };
        slots.iter().filter_map(described).collect()
    }

    /// Returns the state of every monitored database.
    pub fn databases(&self) -> Vec<DatabaseState> {
        let databases = self.databases.lock().unwrap_or_else(PoisonError::into_inner);
        let state = |database: &Arc<MonitoredDatabase>| DatabaseState {
            name: database.name,
            answers: database.answers.load(Ordering::Relaxed),
        };
        databases.iter().map(state).collect()
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_rollout::LocalStore;

    use super::*;

    /// A database that answers, on a full disk.
    #[derive(Debug)]
    struct Full;

    impl WatchedDatabase for Full {
        fn has_been_reached(&self) -> bool {
            true
        }

        fn ping(&self) -> BoxFuture<'_, Result<(), String>> {
            Box::pin(async { Ok(()) })
        }

        fn probe(&self) -> BoxFuture<'_, Result<(), String>> {
            self.ping()
        }

        fn clock_fault(&self) -> Option<String> {
            None
        }

        fn disk_fault(&self) -> Option<&'static str> {
            Some("is full")
        }

        fn outage_mode(&self) -> Option<&'static str> {
            None
        }
    }

    fn health(damaged: DamagedFiles) -> HostHealth {
        let store = Arc::new(LocalStore::new("/nowhere/data/slots".into()));
        let deployments = Arc::new(DeploymentRegistry::new(store, None));
        HostHealth::new(Lifecycle::new(), deployments, "/nowhere/data".into(), damaged)
    }

    #[tokio::test]
    async fn database_on_full_disk_is_named() {
        let health = health(DamagedFiles::default());
        health.watch("ledger", Box::new(Full));
        let degraded = health.report().degraded;
        let reasons: Vec<_> =
            degraded.iter().map(|failed| (failed.check.as_str(), failed.reason.as_str())).collect();
        assert_eq!(reasons, [("ledger", "its disk is full; calls that write to it may fail")]);
    }

    #[test]
    fn services_are_named_until_they_start() {
        let health = health(DamagedFiles::default());
        health.await_services(["first", "second"].into_iter());
        let failing =
            || -> Vec<String> { health.report().failing.into_iter().map(|failed| failed.check).collect() };
        assert_eq!(failing(), ["lifecycle", "service first", "service second"]);
        health.service_started("first");
        assert_eq!(failing(), ["lifecycle", "service second"]);
        health.service_started("second");
        assert_eq!(failing(), ["lifecycle"]);
    }

    #[test]
    fn damaged_files_are_named_at_once() {
        let damaged = DamagedFiles::default();
        let health = health(damaged.clone());
        assert!(health.report().degraded.is_empty());
        for file in ["/nowhere/data/secrets/host.key", "/elsewhere/captcha.sqlite"] {
            damaged.record(Path::new(file), Path::new(&format!("{file}.damaged")));
        }
        let degraded = health.report().degraded;
        let checks: Vec<&str> = degraded.iter().map(|failed| failed.check.as_str()).collect();
        assert_eq!(checks, ["data file /elsewhere/captcha.sqlite", "data file secrets/host.key"]);
        for (failed, aside) in
            degraded.iter().zip(["/elsewhere/captcha.sqlite.damaged", "secrets/host.key.damaged"])
        {
            assert!(failed.reason.contains(&format!("; {aside} is the damaged one")), "{failed:?}");
        }
    }
}
