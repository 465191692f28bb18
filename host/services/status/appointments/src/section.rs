//! Holds the state of one section: its figures, its last attempt, and whether it is being collected.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::sync::watch;

use super::{CollectError, Database, Lacking, Mail, Processes, Section, Sessions, Slots, Sources};

/// Pause after a failure, or the section's time to live if that is shorter.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// How long to wait for a collection where no figures can be shown: half of a scraper's usual timeout.
const WAIT_WITHOUT_FIGURES: Duration = Duration::from_secs(5);
/// How long to wait where older figures can be shown: less than a probe's usual timeout of a second.
const WAIT_FOR_FRESH: Duration = Duration::from_millis(900);
/// A section is due this part of its time to live early, so that a poll at that interval, which may come a little
/// early, still collects it.
const EARLY_PARTS: u32 = 20;

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

/// Collected figures and their times.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub figures: Arc<Collected>,
    /// Unix seconds at which the collection began: the figures are no older.
    pub at: f64,
    /// Unix seconds at which it ended: the figures were not shown before.
    pub shown_at: f64,
    /// Counts the section's successes.
    pub serial: u64,
    since: Instant,
}

/// The start of a collection, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectionStart {
    pub at: SystemTime,
    pub since: Instant,
}

impl CollectionStart {
    pub(super) fn now() -> Self {
        Self { at: SystemTime::now(), since: Instant::now() }
    }

    /// Returns Unix seconds, rounded down.
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
struct SectionState {
    known: Option<Known>,
    attempt: Option<Attempt>,
    running: bool,
    successes: u64,
    failures: u64,
}

/// A section's record for metrics.
#[derive(Clone, Debug)]
pub(super) struct SectionStatus {
    pub known: Option<Known>,
    pub attempt: Option<Attempt>,
    pub successes: u64,
    pub failures: u64,
}

/// The action that is due before a section is shown.
#[derive(Debug)]
pub(super) enum Due {
    /// No action, or none that would help now.
    Nothing,
    /// The caller collects it and waits for this long.
    Collect(CollectionGuard, Duration),
    /// Another caller collects it; wait for this long.
    Join(watch::Receiver<u64>, Duration),
}

/// One section.
#[derive(Debug)]
pub(super) struct Cell {
    pub section: Section,
    time_to_live: Duration,
    max_age: Duration,
    state: Mutex<SectionState>,
    attempts: watch::Sender<u64>,
}

impl Cell {
    /// Makes a section that is shown for `max_age` and collected again after `time_to_live`.
    pub(super) fn new(section: Section, time_to_live: Duration, max_age: Duration) -> Arc<Self> {
        Arc::new(Self {
            section,
            time_to_live: time_to_live.min(max_age),
            max_age,
            state: Mutex::default(),
            attempts: watch::Sender::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, SectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the action that is due at `now`.
    pub(super) fn due(self: &Arc<Self>, now: Instant) -> Due {
        let mut state = self.lock();
        let age = state.known.as_ref().map(|known| now.saturating_duration_since(known.since));
        if age.is_some_and(|age| age < self.time_to_live - self.time_to_live / EARLY_PARTS) {
            return Due::Nothing;
        }
        let shown = age.is_some_and(|age| age < self.max_age);
        let wait = if shown { WAIT_FOR_FRESH } else { WAIT_WITHOUT_FIGURES };
        if state.running {
            return Due::Join(self.attempts.subscribe(), wait);
        }
        // A long collection is not followed by the next one at once, for any number of callers.
        let pause = |attempt: &Attempt| if attempt.error.is_some() { RETRY_AFTER } else { attempt.took };
        let is_pausing = |attempt: &Attempt| {
            now.saturating_duration_since(attempt.ended) < pause(attempt).min(self.time_to_live)
        };
        if state.attempt.as_ref().is_some_and(is_pausing) {
            return Due::Nothing;
        }
        state.running = true;
        Due::Collect(CollectionGuard { cell: Arc::clone(self), ended: false }, wait)
    }

    /// Returns the figures that may be shown at `now`.
    pub(super) fn known(&self, now: Instant) -> Option<Known> {
        let state = self.lock();
        state.known.clone().filter(|known| now.saturating_duration_since(known.since) < self.max_age)
    }

    pub(super) fn status(&self) -> SectionStatus {
        let state = self.lock();
        SectionStatus {
            known: state.known.clone(),
            attempt: state.attempt.clone(),
            successes: state.successes,
            failures: state.failures,
        }
    }
}

/// The exclusive right to collect a section, until it ends.
#[derive(Debug)]
pub(super) struct CollectionGuard {
    cell: Arc<Cell>,
    ended: bool,
}

impl CollectionGuard {
    pub(super) fn section(&self) -> Section {
        self.cell.section
    }

    /// Returns a receiver that is notified when this collection ends.
    pub(super) fn ended(&self) -> watch::Receiver<u64> {
        self.cell.attempts.subscribe()
    }

    /// Records the result, and when it began.
    pub(super) fn end(mut self, collected: Result<Collected, CollectError>, began: CollectionStart) {
        self.record(collected, began);
    }

    fn record(&mut self, collected: Result<Collected, CollectError>, began: CollectionStart) {
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
        // Logged once, not at every attempt.
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

/// Logs once which figures have no column in the tables.
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

impl Drop for CollectionGuard {
    /// Counts an aborted collection, after a panic or at the end of the host, as failed.
    fn drop(&mut self) {
        if !self.ended {
            self.record(
                Err(CollectError::Failed("the collection was given up".into())),
                CollectionStart::now(),
            );
        }
    }
}
