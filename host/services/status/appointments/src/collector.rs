//! Collects sections when they are asked for, each at most once at a time.

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
    Accounts, Clock, CollectError, Collection, Figures, Lacking, Moment, Place, Section,
    connection::Connections,
    queries,
    section::{Began, Cell, Collected, Due, Known, Turn},
};

/// What a collector is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the database is.
    pub place: Place,
    /// The appointment system's clocks.
    pub clock: Clock,
    /// Longest time of a statement.
    pub statement_timeout: Duration,
    /// How long what is known may be shown.
    pub max_age: Duration,
}

/// Reads the appointment system's figures. A clone is another handle on the same.
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

/// What is known at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    now: Moment,
    known: Vec<(Section, Known)>,
}

impl Snapshot {
    /// Unix seconds since which all of it could be shown.
    pub fn newest(&self) -> f64 {
        self.known.iter().map(|(_, known)| known.shown_at).fold(0.0, f64::max)
    }

    /// Unix seconds at which the oldest of it was collected; `None` when nothing is known.
    pub fn oldest(&self) -> Option<f64> {
        self.known.iter().map(|(_, known)| known.at).min_by(f64::total_cmp)
    }

    /// Tells snapshots of different figures apart.
    pub fn serials(&self) -> Vec<(Section, u64)> {
        self.known.iter().map(|(section, known)| (*section, known.serial)).collect()
    }

    /// All of it in one, with the record of every section's collections.
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
    /// A collector that has not collected anything yet; `time_to_live` says how long a section is good.
    ///
    /// # Errors
    /// When the database's URL is none.
    pub fn new(options: Options, time_to_live: impl Fn(Section) -> Duration) -> Result<Self, CollectError> {
        let Options { place, clock, statement_timeout, max_age } = options;
        let connections = Arc::new(Connections::new(&place, statement_timeout)?);
        let cells = Section::ALL.map(|section| Cell::new(section, time_to_live(section), max_age));
        let lanes = [const { Semaphore::const_new(1) }; 2];
        let shared = Shared { connections, clock, cells, lanes };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Looks accounts up in the same database.
    pub fn accounts(&self) -> Accounts {
        Accounts::new(Arc::clone(&self.shared.connections), self.shared.clock.clone())
    }

    /// The appointment system's clocks.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Has collected what is asked for and due, and waits for it: for less than a second where older figures can be
    /// shown instead, and not for ever otherwise, for what can be shown is better than nothing.
    pub async fn refresh(&self, statistics: bool) {
        let (now, start) = (Instant::now(), Deadline::now());
        let (mut awaited, mut turns) = (Vec::new(), [const { Vec::new() }; 2]);
        let [quick, scans] = &mut turns;
        for cell in self.wanted(statistics) {
            let lane = if cell.section.is_statistics() { &mut *scans } else { &mut *quick };
            match cell.due(now) {
                Due::Nothing => {}
                Due::Collect(turn, patience) => {
                    awaited.push((turn.ended(), patience));
                    lane.push(turn);
                }
                Due::Join(ended, patience) => awaited.push((ended, patience)),
            }
        }
        for (lane, turns) in turns.into_iter().enumerate() {
            self.start(lane, turns);
        }
        for (mut ended, patience) in awaited {
            // Late is no error: the collection goes on, and until then older figures are shown, or none. Waiting fails
            // when the collector is gone, and then nothing is shown.
            let _ = timeout_at(start + patience, ended.changed()).await;
        }
    }

    /// What is known, from memory.
    pub fn snapshot(&self, statistics: bool) -> Snapshot {
        let now = Instant::now();
        let known = self.wanted(statistics).filter_map(|cell| Some((cell.section, cell.known(now)?)));
        Snapshot { now: self.shared.clock.moment(Clock::now()), known: known.collect() }
    }

    /// What is known, from memory, with the record of every section's collections.
    pub fn figures(&self, statistics: bool) -> Figures {
        self.snapshot(statistics).figures(self.collections())
    }

    /// How the collection of every section stands.
    pub fn collections(&self) -> Vec<Collection> {
        let standing = |cell: &Arc<Cell>| {
            let standing = cell.standing();
            Collection {
                section: cell.section,
                succeeded_at: standing.known.map(|known| known.at),
                duration_seconds: standing.attempt.as_ref().map(|attempt| attempt.took.as_secs_f64()),
                error: standing.attempt.and_then(|attempt| Some(attempt.error?.as_str().to_owned())),
                successes: standing.successes,
                failures: standing.failures,
            }
        };
        self.shared.cells.iter().map(standing).collect()
    }

    /// Closes the connections once they are free.
    pub async fn close(&self) {
        self.shared.connections.close().await;
    }

    fn wanted(&self, statistics: bool) -> impl Iterator<Item = &Arc<Cell>> {
        self.shared.cells.iter().filter(move |cell| statistics || !cell.section.is_statistics())
    }

    /// Collects in the background and in this order, so that whoever asked may leave.
    fn start(&self, lane: usize, turns: Vec<Turn>) {
        if turns.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            for turn in turns {
                let Some(lane) = shared.lanes.get(lane) else { return };
                let Ok(_place) = lane.acquire().await else { return };
                let began = Began::now();
                let (section, now) = (turn.section(), began.unix_seconds());
                let collected = queries::collect(section, &shared.connections, &shared.clock, now).await;
                turn.end(collected, began);
            }
        });
    }
}
