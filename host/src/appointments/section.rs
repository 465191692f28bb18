//! One section: what is known of it, and whether somebody is collecting it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::sync::watch;

use super::{CollectError, Figures, Section};

/// After a failure the section is left alone for this long, or for its time to live when that is shorter.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What was collected, and when.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub figures: Arc<Figures>,
    /// Unix seconds.
    pub at: f64,
    /// Counts the section's successes.
    pub serial: u64,
    since: Instant,
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
    /// Collect it; meanwhile what is known will do, be it nothing. The collector is the caller's to run.
    Refresh(Turn),
    /// Collect it, and wait.
    Await(Turn),
    /// Somebody collects it; wait.
    Join(watch::Receiver<u64>),
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
        if age.is_some_and(|age| age < self.time_to_live) {
            return Due::Nothing;
        }
        let shown = age.is_some_and(|age| age < self.max_age);
        let failed = state.attempt.as_ref().filter(|attempt| attempt.error.is_some());
        // Who waited for the failure has waited for all: the others see what comes of the next attempt.
        let awaited = !shown && failed.is_none();
        if state.running {
            return if awaited { Due::Join(self.attempts.subscribe()) } else { Due::Nothing };
        }
        let pause = RETRY_AFTER.min(self.time_to_live);
        if failed.is_some_and(|attempt| now.saturating_duration_since(attempt.ended) < pause) {
            return Due::Nothing;
        }
        state.running = true;
        let turn = Turn { cell: Arc::clone(self), ended: false };
        if awaited { Due::Await(turn) } else { Due::Refresh(turn) }
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

    /// Records what came of it.
    pub(super) fn end(mut self, collected: Result<Figures, CollectError>, took: Duration) {
        self.record(collected, took);
    }

    fn record(&mut self, collected: Result<Figures, CollectError>, took: Duration) {
        self.ended = true;
        let (now, section) = (Instant::now(), self.section().as_str());
        let mut state = self.cell.lock();
        let before = state.attempt.as_ref().and_then(|attempt| attempt.error.clone());
        let error = match collected {
            Ok(figures) => {
                state.successes += 1;
                let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
                let serial = state.successes;
                state.known = Some(Known { figures: Arc::new(figures), at, serial, since: now });
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
        state.attempt = Some(Attempt { took, error, ended: now });
        state.running = false;
        drop(state);
        self.cell.attempts.send_modify(|count| *count += 1);
    }
}

impl Drop for Turn {
    /// A turn that was given up, by a panic or at the end of the host, counts as failed.
    fn drop(&mut self) {
        if !self.ended {
            self.record(Err(CollectError::Failed("the collection was given up".into())), Duration::ZERO);
        }
    }
}
