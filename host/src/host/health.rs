//! What is known of the host's health, kept up to date in the background so that nobody waits for it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Map, json};
use tokio::task::JoinSet;

use crate::{
    admin::{Generations, ReadyReport},
    deploy::{DeploymentRegistry, SharedView},
    http::lifecycle::{Lifecycle, Phase},
    services::captcha::actuator::{Component, Health, Status},
    storage::Ledger,
};

/// Time between two looks at a database.
const EVERY: Duration = Duration::from_secs(2);
/// While all is well, every so many looks something is written too: each costs a disk a flush.
const LOOKS_A_WRITE: u32 = 5;
/// A database may be away this long before the host stops asking for requests.
const GRACE: Duration = Duration::from_secs(10);

/// The host's health.
#[derive(Debug)]
pub(super) struct HostHealth {
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
    ledger: Ledger,
}

impl Database {
    async fn watch(self: Arc<Self>) {
        let (ledger, mut clock_fault) = (&self.ledger, None);
        for look in 0_u32.. {
            let reads = self.answers.load(Ordering::Relaxed) && look % LOOKS_A_WRITE != 0;
            let answer = if reads { ledger.ping().await } else { ledger.probe().await };
            let answers = answer.is_ok();
            if answers {
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            }
            if self.answers.swap(answers, Ordering::Relaxed) != answers {
                let error = answer.err().map(|error| error.to_string());
                tracing::warn!(database = self.name, answers, error, "the database's state has changed");
            }
            let fault = ledger.clock_fault();
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
}

impl HostHealth {
    pub(super) fn new(lifecycle: Lifecycle, deployments: Arc<DeploymentRegistry>) -> Self {
        Self { lifecycle, deployments, databases: Mutex::default(), watchers: Mutex::default() }
    }

    /// Looks at a database from now on.
    pub(super) fn watch(&self, name: &'static str, ledger: Ledger) {
        let answers = ledger.has_been_reached();
        let last = Mutex::new(answers.then(Instant::now));
        let database = Arc::new(Database { name, answers: AtomicBool::new(answers), last, ledger });
        self.databases.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&database));
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).spawn(database.watch());
    }

    pub(super) fn stop(&self) {
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
    pub(super) fn report(&self) -> ReadyReport {
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
            let name = database.name;
            match (database.lost(), database.ledger.is_lenient()) {
                (true, false) => {
                    report.fail(name, "the database does not answer or cannot be written; see the log");
                }
                (true, true) => report.degrade(
                    name,
                    "the database does not answer or cannot be written; payloads are accepted without it, so that one \
                     may be accepted twice (captcha.on_ledger_failure = \"allow\")",
                ),
                (false, _) => {}
            }
            if let Some(fault) = database.ledger.clock_fault() {
                report.degrade(format!("{name} clock"), fault);
            }
        }
        report
    }
}

impl Health for HostHealth {
    fn liveness(&self) -> Status {
        Status::Up
    }

    fn readiness(&self) -> Status {
        if self.report().is_ready() { Status::Up } else { Status::OutOfService }
    }

    fn components(&self) -> Vec<Component> {
        let databases = self.databases.lock().unwrap_or_else(PoisonError::into_inner);
        let component = |database: &Arc<Database>| {
            let answers = database.answers.load(Ordering::Relaxed);
            let details = Map::from_iter([("database".to_owned(), json!(database.name))]);
            Component { name: "db", status: if answers { Status::Up } else { Status::Down }, details }
        };
        databases.iter().map(component).collect()
    }
}
