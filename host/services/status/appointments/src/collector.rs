//! Collects sections when they are requested, each at most once at a time.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::Semaphore,
    time::{Instant as Deadline, timeout_at},
};

use super::{
    Accounts, Clock, CollectError, Collection, DatabaseLocation, Figures, Lacking, Moment, Section,
    connection::Connections,
    queries,
    section::{Cell, Collected, CollectionGuard, CollectionStart, Due, Known},
};

/// Settings of a collector.
#[derive(Clone, Debug)]
pub struct CollectorOptions {
    /// Where the database is.
    pub location: DatabaseLocation,
    /// The appointment system's clock.
    pub clock: Clock,
    /// Longest time of a statement.
    pub statement_timeout: Duration,
    /// How long figures may be shown.
    pub max_age: Duration,
}

/// Reads the appointment system's figures. Clones share them.
#[derive(Clone, Debug)]
pub struct Collector {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    connections: Arc<Connections>,
    clock: Clock,
    cells: [Arc<Cell>; Section::ALL.len()],
    /// One quick section at a time, in which accounts are looked up too, and one that scans.
    lanes: [Semaphore; 2],
}

/// The figures at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    now: Moment,
    known: Vec<(Section, Known)>,
}

impl Snapshot {
    /// Returns the Unix seconds since which all of it could be shown.
    pub fn newest(&self) -> f64 {
        self.known.iter().map(|(_, known)| known.shown_at).fold(0.0, f64::max)
    }

    /// Returns the Unix seconds at which the oldest of it was collected; `None` without figures.
    pub fn oldest(&self) -> Option<f64> {
        self.known.iter().map(|(_, known)| known.at).min_by(f64::total_cmp)
    }

    /// Returns serial numbers, which differ between snapshots of different figures.
    pub fn serials(&self) -> Vec<(Section, u64)> {
        self.known.iter().map(|(section, known)| (*section, known.serial)).collect()
    }

    /// Merges all sections, with the record of every section's collections.
    fn figures(self, collections: Vec<Collection>) -> Figures {
        let (mut database, mut processes, mut slots) = (None, None, None);
        let (mut mail, mut sources, mut sessions) = (None, None, None);
        let mut lacking: BTreeSet<Lacking> = BTreeSet::new();
        for (_, known) in &self.known {
            match &*known.figures {
                Collected::Database(section, noted) => {
                    lacking.extend(noted);
                    database = Some(section.clone());
                }
                Collected::Processes(section) => {
                    lacking.extend(section.external_user_ids.is_none().then_some(Lacking::ExternalUserIds));
                    processes = Some(section.clone());
                }
                Collected::Slots(section) => {
                    lacking.extend(section.outdated.is_none().then_some(Lacking::OutdatedSlots));
                    slots = Some(section.clone());
                }
                Collected::Mail(section) => mail = Some(section.clone()),
                Collected::Sources(section) => sources = Some(section.clone()),
                Collected::Sessions(section) => sessions = Some(section.clone()),
            }
        }
        let (now, lacking) = (self.now, lacking.into_iter().collect());
        Figures { now, database, processes, slots, mail, sources, sessions, lacking, collections }
    }
}

impl Collector {
    /// Makes a collector without figures; `time_to_live` says how long a section is current.
    ///
    /// # Errors
    /// When the database's URL is invalid.
    pub fn new(
        options: CollectorOptions,
        time_to_live: impl Fn(Section) -> Duration,
    ) -> Result<Self, CollectError> {
        let CollectorOptions { location, clock, statement_timeout, max_age } = options;
        let connections = Arc::new(Connections::new(&location, statement_timeout)?);
        let cells = Section::ALL.map(|section| Cell::new(section, time_to_live(section), max_age));
        let lanes = [const { Semaphore::const_new(1) }; 2];
        let shared = Shared { connections, clock, cells, lanes };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the accounts of the same database.
    pub fn accounts(&self) -> Accounts {
        Accounts::new(Arc::clone(&self.shared.connections), self.shared.clock.clone())
    }

    /// Returns the appointment system's clock.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Collects the requested sections that are due, and waits for them: less than a second where older figures can be
    /// shown instead, and a bounded time otherwise.
    pub async fn refresh(&self, statistics: bool) {
        let (now, start) = (Instant::now(), Deadline::now());
        let (mut awaited, mut guards) = (Vec::new(), [const { Vec::new() }; 2]);
        let [quick, scans] = &mut guards;
        for cell in self.wanted(statistics) {
            let lane = if cell.section.is_statistics() { &mut *scans } else { &mut *quick };
            match cell.due(now) {
                Due::Nothing => {}
                Due::Collect(guard, wait) => {
                    awaited.push((guard.ended(), wait));
                    lane.push(guard);
                }
                Due::Join(ended, wait) => awaited.push((ended, wait)),
            }
        }
        for (lane, guards) in guards.into_iter().enumerate() {
            self.start(lane, guards);
        }
        for (mut ended, wait) in awaited {
            // A timeout is not an error: the collection continues, and until then older figures are shown, or none.
            // Waiting fails when the collector is gone, and then nothing is shown.
            let _ = timeout_at(start + wait, ended.changed()).await;
        }
    }

    /// Returns the present figures from memory.
    pub fn snapshot(&self, statistics: bool) -> Snapshot {
        let now = Instant::now();
        let known = self.wanted(statistics).filter_map(|cell| Some((cell.section, cell.known(now)?)));
        Snapshot { now: self.shared.clock.moment(Clock::now()), known: known.collect() }
    }

    /// Returns the present figures from memory, with the record of every section's collections.
    pub fn figures(&self, statistics: bool) -> Figures {
        self.snapshot(statistics).figures(self.collections())
    }

    /// Returns the status of every section's collection.
    pub fn collections(&self) -> Vec<Collection> {
        let status = |cell: &Arc<Cell>| {
            let status = cell.status();
            Collection {
                section: cell.section,
                succeeded_at: status.known.map(|known| known.at),
                duration_seconds: status.attempt.as_ref().map(|attempt| attempt.took.as_secs_f64()),
                error: status.attempt.and_then(|attempt| Some(attempt.error?.as_str().to_owned())),
                successes: status.successes,
                failures: status.failures,
            }
        };
        self.shared.cells.iter().map(status).collect()
    }

    /// Closes the connections once they are free.
    pub async fn close(&self) {
        self.shared.connections.close().await;
    }

    fn wanted(&self, statistics: bool) -> impl Iterator<Item = &Arc<Cell>> {
        self.shared.cells.iter().filter(move |cell| statistics || !cell.section.is_statistics())
    }

    /// Collects in the background and in this order, so that callers may leave.
    fn start(&self, lane: usize, guards: Vec<CollectionGuard>) {
        if guards.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            for guard in guards {
                let Some(lane) = shared.lanes.get(lane) else { return };
                let Ok(_permit) = lane.acquire().await else { return };
                let began = CollectionStart::now();
                let (section, now) = (guard.section(), began.unix_seconds());
                let collected = queries::collect(section, &shared.connections, &shared.clock, now).await;
                guard.end(collected, began);
            }
        });
    }
}
