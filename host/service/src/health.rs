//! What is known of the host's health, kept up to date in the background so that nobody waits for it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bulkhead_http::lifecycle::{Lifecycle, Phase};
use bulkhead_rollout::{DeploymentRegistry, SharedView};
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use super::report::{Generations, ReadyReport};

/// Time between two looks at a database.
const EVERY: Duration = Duration::from_secs(2);
/// While all is well, every so many looks something is written too: each costs a disk a flush.
const LOOKS_A_WRITE: u32 = 5;
/// A database may be away this long before the host stops asking for requests.
const GRACE: Duration = Duration::from_secs(10);

/// A database of a service, as the host's health sees it. Its methods that are not futures must not wait.
pub trait WatchedDatabase: fmt::Debug + Send + Sync + 'static {
    /// Returns whether it has been reached since the start.
    fn has_been_reached(&self) -> bool;

    /// Finds out whether it answers in time. The error's text is for the log.
    fn ping(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Finds out whether it takes in time what is written. The error's text is for the log.
    fn probe(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Returns what is wrong with the host's clock beside the database's, if they differ.
    fn clock_fault(&self) -> Option<String>;

    /// Returns what calls that go on without it mean and which setting has them go on, where they do.
    fn without(&self) -> Option<&'static str>;
}

/// The state of a database when health looked at it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseState {
    /// The name that health has for it.
    pub name: &'static str,
    /// Whether it answered and took what was written.
    pub answers: bool,
}

/// The host's health.
#[derive(Debug)]
pub struct HostHealth {
    lifecycle: Lifecycle,
    /// Tells which slots nothing answers for.
    deployments: Arc<DeploymentRegistry>,
    databases: Mutex<Vec<Arc<Database>>>,
    watchers: Mutex<JoinSet<()>>,
}

/// A database and when it last answered and took what was written.
#[derive(Debug)]
struct Database {
    name: &'static str,
    answers: AtomicBool,
    /// None before the first time.
    last: Mutex<Option<Instant>>,
    /// Tells of its clock, and whether calls go on without it.
    watched: Box<dyn WatchedDatabase>,
}

impl Database {
    async fn watch(self: Arc<Self>) {
        let (watched, mut clock_fault) = (&self.watched, None);
        for look in 0_u32.. {
            let reads = self.answers.load(Ordering::Relaxed) && look % LOOKS_A_WRITE != 0;
            let answer = if reads { watched.ping().await } else { watched.probe().await };
            let answers = answer.is_ok();
            if answers {
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
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
            tokio::time::sleep(EVERY).await;
        }
    }

    fn lost(&self) -> bool {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        !self.answers.load(Ordering::Relaxed) && last.is_none_or(|last| last.elapsed() > GRACE)
    }

    fn report(&self, report: &mut ReadyReport) {
        const LOST: &str = "the database does not answer or cannot be written";
        let name = self.name;
        match (self.lost(), self.watched.without()) {
            (true, None) => report.fail(name, format!("{LOST}; see the log")),
            (true, Some(without)) => report.degrade(name, format!("{LOST}; {without}")),
            (false, _) => {}
        }
        if let Some(fault) = self.watched.clock_fault() {
            report.degrade(format!("{name} clock"), fault);
        }
    }
}

impl HostHealth {
    /// Returns the health of a host without databases.
    pub fn new(lifecycle: Lifecycle, deployments: Arc<DeploymentRegistry>) -> Self {
        Self { lifecycle, deployments, databases: Mutex::default(), watchers: Mutex::default() }
    }

    /// Looks at a database from now on.
    pub fn watch(&self, name: &'static str, watched: Box<dyn WatchedDatabase>) {
        let answers = watched.has_been_reached();
        let last = Mutex::new(answers.then(Instant::now));
        let database = Arc::new(Database { name, answers: AtomicBool::new(answers), last, watched });
        self.databases.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&database));
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).spawn(database.watch());
    }

    /// Ends the looks at databases, and logs which slots' state is not written.
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

    /// Whether requests should be sent here, and if not, why.
    pub fn report(&self) -> ReadyReport {
        let mut report = ReadyReport::default();
        match self.lifecycle.phase() {
            Phase::Ready => {}
            Phase::Starting => report.fail("lifecycle", "the host is starting"),
            Phase::Draining | Phase::Stopped => report.fail("lifecycle", "the host is draining"),
        }
        for slot in self.deployments.all() {
            let name = slot.slot().as_str();
            if let Some(reason) = slot.empty_reason() {
                report.fail(format!("slot {name}"), reason);
            }
            if let Some(reason) = slot.unsaved_reason() {
                report.degrade(format!("slot {name}"), reason);
            }
            if let Some(reason) = slot.file_fault() {
                report.degrade(format!("slot {name}"), reason);
            }
            if let Some(reason) = slot.uncompiled_reason() {
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
        for database in self.databases.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            database.report(&mut report);
        }
        report
    }

    /// Returns the state of every database.
    pub fn databases(&self) -> Vec<DatabaseState> {
        let databases = self.databases.lock().unwrap_or_else(PoisonError::into_inner);
        let state = |database: &Arc<Database>| DatabaseState {
            name: database.name,
            answers: database.answers.load(Ordering::Relaxed),
        };
        databases.iter().map(state).collect()
    }
}
