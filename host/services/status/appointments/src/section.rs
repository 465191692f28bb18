//! One section: what is known of it, and whether somebody is collecting it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::sync::watch;

use super::{CollectError, Database, Lacking, Mail, Processes, Section, Sessions, Slots, Sources};

/// After a failure the section is left alone for this long, or for its time to live when that is shorter.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// How long a collection is waited for where nothing can be shown: half of what a scraper usually grants.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same where older figures can be shown instead: less than the second that a probe usually grants.
const PATIENCE_FOR_FRESH: Duration = Duration::from_millis(900);
/// The part of the time to live that a section may lack to be due, so that a poll that comes as often as that, and a
/// little early, still has it collected.
const EARLY: u32 = 20;

/// The figures of one section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Collected {
    /// With the figures of other sections that the tables have no column for.
    Database(Database, Vec<Lacking>),
    Processes(Processes),
    Slots(Slots),
    Mail(Mail),
    Sources(Sources),
    Sessions(Sessions),
}

/// What was collected, and when.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub figures: Arc<Collected>,
    /// Unix seconds at which the collection began: the figures are no older.
    pub at: f64,
    /// Unix seconds at which it ended: nobody was shown the figures before.
    pub shown_at: f64,
    /// Counts the section's successes.
    pub serial: u64,
    since: Instant,
}

/// When a collection began, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began {
    pub at: SystemTime,
    pub since: Instant,
}

impl Began {
    pub(super) fn now() -> Self {
        Self { at: SystemTime::now(), since: Instant::now() }
    }

    /// Unix seconds, rounded down.
    pub(super) fn unix_seconds(self) -> i64 {
        unix_seconds(self.at).floor() as i64
    }
}

fn unix_seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The last attempt.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub took: Duration,
    pub error: Option<CollectError>,
    ended: Instant,
}

#[derive(Debug, Default)]
struct State {
    known: Option<Known>,
    attempt: Option<Attempt>,
    running: bool,
    successes: u64,
    failures: u64,
}

/// A section's record for metrics.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub known: Option<Known>,
    pub attempt: Option<Attempt>,
    pub successes: u64,
    pub failures: u64,
}

/// What has to be done before a section is shown.
#[derive(Debug)]
pub(super) enum Due {
    /// Nothing, or nothing that would help now.
    Nothing,
    /// Collect it, and wait for so long. The collector is the caller's to run.
    Collect(Turn, Duration),
    /// Another caller has it collected; wait for so long.
    Join(watch::Receiver<u64>, Duration),
}

/// One section.
#[derive(Debug)]
pub(super) struct Cell {
    pub section: Section,
    time_to_live: Duration,
    max_age: Duration,
    state: Mutex<State>,
    attempts: watch::Sender<u64>,
}

impl Cell {
    /// Shown for `max_age`, collected anew after `time_to_live`.
    pub(super) fn new(section: Section, time_to_live: Duration, max_age: Duration) -> Arc<Self> {
        Arc::new(Self {
            section,
            time_to_live: time_to_live.min(max_age),
            max_age,
            state: Mutex::default(),
            attempts: watch::Sender::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has to be done at `now`.
    pub(super) fn due(self: &Arc<Self>, now: Instant) -> Due {
        let mut state = self.lock();
        let age = state.known.as_ref().map(|known| now.saturating_duration_since(known.since));
        if age.is_some_and(|age| age < self.time_to_live - self.time_to_live / EARLY) {
            return Due::Nothing;
        }
        let shown = age.is_some_and(|age| age < self.max_age);
        let patience = if shown { PATIENCE_FOR_FRESH } else { PATIENCE };
        if state.running {
            return Due::Join(self.attempts.subscribe(), patience);
        }
        // A collection that takes long is not followed by the next at once, however many ask.
        let rest = |attempt: &Attempt| if attempt.error.is_some() { RETRY_AFTER } else { attempt.took };
        let rests = |attempt: &Attempt| {
            now.saturating_duration_since(attempt.ended) < rest(attempt).min(self.time_to_live)
        };
        if state.attempt.as_ref().is_some_and(rests) {
            return Due::Nothing;
        }
        state.running = true;
        Due::Collect(Turn { cell: Arc::clone(self), ended: false }, patience)
    }

    /// What may be shown at `now`.
    pub(super) fn known(&self, now: Instant) -> Option<Known> {
        let state = self.lock();
        state.known.clone().filter(|known| now.saturating_duration_since(known.since) < self.max_age)
    }

    pub(super) fn standing(&self) -> Standing {
        let state = self.lock();
        Standing {
            known: state.known.clone(),
            attempt: state.attempt.clone(),
            successes: state.successes,
            failures: state.failures,
        }
    }
}

/// The right to collect a section; nobody else has it until it ends.
#[derive(Debug)]
pub(super) struct Turn {
    cell: Arc<Cell>,
    ended: bool,
}

impl Turn {
    pub(super) fn section(&self) -> Section {
        self.cell.section
    }

    /// Hears of the end of this turn.
    pub(super) fn ended(&self) -> watch::Receiver<u64> {
        self.cell.attempts.subscribe()
    }

    /// Records what came of it, and when it began.
    pub(super) fn end(mut self, collected: Result<Collected, CollectError>, began: Began) {
        self.record(collected, began);
    }

    fn record(&mut self, collected: Result<Collected, CollectError>, began: Began) {
        self.ended = true;
        let (now, section) = (Instant::now(), self.section().as_str());
        let mut state = self.cell.lock();
        let before = state.attempt.as_ref().and_then(|attempt| attempt.error.clone());
        let error = match collected {
            Ok(figures) => {
                warn_of_columns(state.known.as_ref().map(|known| &*known.figures), &figures);
                state.successes += 1;
                let (serial, figures) = (state.successes, Arc::new(figures));
                let (at, shown_at) = (unix_seconds(began.at), unix_seconds(SystemTime::now()));
                state.known = Some(Known { figures, at, shown_at, serial, since: began.since });
                None
            }
            Err(error) => {
                state.failures += 1;
                Some(error)
            }
        };
        // Once, and not at every attempt.
        match (&before, &error) {
            (None, Some(error)) => {
                tracing::warn!(section, %error, "figures of the appointment system cannot be collected");
            }
            (Some(_), None) => {
                tracing::info!(section, "figures of the appointment system are collected again")
            }
            _ => {}
        }
        let took = now.saturating_duration_since(began.since);
        state.attempt = Some(Attempt { took, error, ended: now });
        state.running = false;
        drop(state);
        self.cell.attempts.send_modify(|count| *count += 1);
    }
}

/// Says once which figures the tables have no column for.
fn warn_of_columns(before: Option<&Collected>, now: &Collected) {
    let lacking = |collected: &Collected| match collected {
        Collected::Database(_, lacking) => lacking.clone(),
        _ => Vec::new(),
    };
    let (known, lacking) = (before.map(lacking).unwrap_or_default(), lacking(now));
    if !lacking.is_empty() && lacking != known {
        tracing::warn!(?lacking, "the appointment system's tables are of a release that lacks figures");
    }
}

impl Drop for Turn {
    /// A turn that was given up, by a panic or at the end of the host, counts as failed.
    fn drop(&mut self) {
        if !self.ended {
            self.record(Err(CollectError::Failed("the collection was given up".into())), Began::now());
        }
    }
}
