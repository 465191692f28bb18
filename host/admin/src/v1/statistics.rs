//! How slots do: since the host's start, and in the last minutes step by step.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant, SystemTime},
};

use axum::{
    Json,
    extract::{Path, State},
};
use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::{Metrics, metrics::SlotReading, timestamp::rfc3339_millis};
use serde::Serialize;
use tokio::time::{MissedTickBehavior, interval};

use super::{
    Api, ApiError,
    slots::{Parameters, known, limit},
};

/// One step. Shorter shows noise, longer keeps an operator waiting for the effect of what they did.
const STEP: Duration = Duration::from_secs(2);
/// Steps that are kept, five minutes of them.
const STEPS: usize = 150;

/// How a slot does.
#[derive(Debug, Serialize)]
pub(super) struct Statistics {
    slot: &'static str,
    /// Since the host's start; every outcome is there.
    #[serde(flatten)]
    total: Figures,
    in_flight: u64,
    waiting: u64,
    memory_high_water_bytes: u64,
    /// The last steps, the oldest first.
    steps: Vec<Step>,
}

/// What ended in a stretch of time.
#[derive(Clone, Debug, Serialize)]
struct Figures {
    calls: u64,
    outcomes: BTreeMap<&'static str, u64>,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// A stretch of time, about [`STEP`] long.
#[derive(Clone, Debug, Serialize)]
struct Step {
    /// Its end, RFC 3339.
    at: String,
    seconds: f64,
    /// Only outcomes that there were.
    #[serde(flatten)]
    figures: Figures,
    in_flight: u64,
    waiting: u64,
}

impl Figures {
    fn of(reading: &SlotReading) -> Self {
        // Microseconds: buckets are no finer, and shorter numbers are shorter answers.
        let milliseconds =
            |quantile| reading.latencies.quantile(quantile).map(|time| (time * 1e6).round() / 1e3);
        Self {
            calls: reading.calls(),
            outcomes: reading.outcomes.iter().copied().collect(),
            p50_ms: milliseconds(0.5),
            p99_ms: milliseconds(0.99),
        }
    }
}

/// Keeps the last steps of every slot.
pub(super) struct Recorder {
    metrics: Arc<Metrics>,
    courses: Mutex<BTreeMap<SlotId, Course>>,
}

/// The last steps of a slot.
struct Course {
    last: SlotReading,
    since: Instant,
    steps: VecDeque<Step>,
}

impl Course {
    fn new(first: SlotReading) -> Self {
        Self { last: first, since: Instant::now(), steps: VecDeque::new() }
    }

    fn step(&mut self, reading: SlotReading) {
        let mut figures = Figures::of(&reading.since(&self.last));
        figures.outcomes.retain(|_, calls| *calls > 0);
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(Step {
            at: rfc3339_millis(SystemTime::now()),
            seconds: self.since.elapsed().as_secs_f64(),
            figures,
            in_flight: reading.in_flight,
            waiting: reading.waiting,
        });
        self.last = reading;
        self.since = Instant::now();
    }

    fn last(&self, limit: usize) -> Vec<Step> {
        self.steps.iter().skip(self.steps.len().saturating_sub(limit)).cloned().collect()
    }
}

impl Recorder {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        let course = |slot| (slot, Course::new(metrics.slot(slot).reading()));
        let courses = metrics.slots().map(course).collect();
        Self { courses: Mutex::new(courses), metrics }
    }

    fn step(&self) {
        let mut courses = self.courses.lock().unwrap_or_else(PoisonError::into_inner);
        for (slot, course) in &mut *courses {
            course.step(self.metrics.slot(*slot).reading());
        }
    }

    fn statistics(&self, slot: SlotId, limit: usize) -> Statistics {
        let reading = self.metrics.slot(slot).reading();
        let courses = self.courses.lock().unwrap_or_else(PoisonError::into_inner);
        Statistics {
            slot: slot.as_str(),
            total: Figures::of(&reading),
            in_flight: reading.in_flight,
            waiting: reading.waiting,
            memory_high_water_bytes: reading.memory_high_water,
            steps: courses.get(&slot).map(|course| course.last(limit)).unwrap_or_default(),
        }
    }
}

/// Notes a step of every slot every [`STEP`] until the recorder is gone.
pub(super) async fn record(recorder: Weak<Recorder>) {
    record_every(STEP, recorder).await;
}

async fn record_every(step: Duration, recorder: Weak<Recorder>) {
    let mut clock = interval(step);
    // A step that comes late is a longer one; those after it are not hurried.
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is at once.
    clock.tick().await;
    loop {
        clock.tick().await;
        let Some(recorder) = recorder.upgrade() else { return };
        recorder.step();
    }
}

pub(super) async fn show(
    State(api): State<Arc<Api>>,
    Path(slot): Path<String>,
    parameters: Parameters,
) -> Result<Json<Statistics>, ApiError> {
    let parameters = known(parameters, &["limit"])?;
    let slot = api.slot(&slot)?.slot();
    Ok(Json(api.recorder.statistics(slot, limit(&parameters)?)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    const SLOT: SlotId = SlotId::new("slot");

    #[test]
    fn steps_hold_what_ended_in_them_and_the_total_holds_all() {
        let metrics = Arc::new(Metrics::new("/".into(), [SLOT]).unwrap());
        let slot = metrics.slot(SLOT);
        slot.call("ok", 0.001);
        let recorder = Recorder::new(Arc::clone(&metrics));
        recorder.step();
        slot.call("ok", 0.001);
        slot.call("trap", 0.2);
        slot.memory_high_water(99);
        recorder.step();

        let found = recorder.statistics(SLOT, 10);
        assert_eq!((found.total.calls, found.total.outcomes["ok"]), (3, 2));
        assert_eq!(found.total.outcomes.len(), 10, "every outcome");
        assert_eq!(found.memory_high_water_bytes, 99);
        let [before, after] = &found.steps[..] else { panic!("{found:?}") };
        assert_eq!((before.figures.calls, before.figures.p50_ms), (0, None));
        assert_eq!(after.figures.outcomes, BTreeMap::from([("ok", 1), ("trap", 1)]));
        assert!(after.figures.p99_ms.unwrap() > 100.0);
        assert_eq!(recorder.statistics(SLOT, 1).steps.len(), 1);
        assert_eq!(recorder.statistics(SlotId::new("other"), 10).total.calls, 0);
    }

    #[test]
    fn only_the_last_steps_are_kept() {
        let mut course = Course::new(SlotReading::default());
        (0..STEPS + 5).for_each(|_| course.step(SlotReading::default()));
        assert_eq!(course.last(usize::MAX).len(), STEPS);
    }

    #[tokio::test]
    async fn recording_ends_with_the_recorder() {
        let recorder = Arc::new(Recorder::new(Arc::new(Metrics::new("/".into(), [SLOT]).unwrap())));
        let task = tokio::spawn(record_every(Duration::from_millis(1), Arc::downgrade(&recorder)));
        let patience = Duration::from_secs(60);
        let records = async {
            while recorder.statistics(SLOT, 10).steps.len() < 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(patience, records).await.expect("steps are recorded");
        drop(recorder);
        tokio::time::timeout(patience, task).await.expect("the task ends").unwrap();
    }
}
