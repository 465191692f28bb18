//! Call statistics of slots: since the host's start, and in steps over the last minutes.

use std::{
    collections::{BTreeMap, VecDeque, btree_map::Entry},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant, SystemTime},
};

use axum::{
    Json,
    extract::{Path, State},
};
use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::{Metrics, SlotMetrics, metrics::SlotReading, timestamp::rfc3339_millis};
use serde::Serialize;
use tokio::time::{MissedTickBehavior, interval};

use super::{
    AdminApiError, Api,
    slots::{QueryParameters, known, limit},
};

/// Length of a step. A shorter one shows noise; with a longer one operators wait for the effect of a change.
const STEP: Duration = Duration::from_secs(2);
/// Most steps that are kept: five minutes.
const STEPS: usize = 150;

/// The call statistics of a slot.
#[derive(Debug, Serialize)]
pub(super) struct SlotStatistics {
    slot: &'static str,
    /// Calls since the host's start, with every outcome.
    #[serde(flatten)]
    total: CallStatistics,
    in_flight: u64,
    waiting: u64,
    memory_high_water_bytes: u64,
    /// The last steps, oldest first.
    steps: Vec<StatisticsStep>,
}

/// The calls that ended in a period.
#[derive(Clone, Debug, Serialize)]
struct CallStatistics {
    calls: u64,
    outcomes: BTreeMap<&'static str, u64>,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// A period of about [`STEP`].
#[derive(Clone, Debug, Serialize)]
struct StatisticsStep {
    /// End of the step, RFC 3339.
    at: String,
    seconds: f64,
    /// Calls of the step, with the outcomes that occurred.
    #[serde(flatten)]
    statistics: CallStatistics,
    in_flight: u64,
    waiting: u64,
}

impl CallStatistics {
    fn of(reading: &SlotReading) -> Self {
        // Microseconds: buckets are no finer, and answers stay short.
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

/// Records the steps of every slot.
pub(super) struct StatisticsRecorder {
    metrics: Arc<Metrics>,
    histories: Mutex<BTreeMap<SlotId, SlotHistory>>,
}

/// The last steps of a slot.
struct SlotHistory {
    last: SlotReading,
    since: Instant,
    steps: VecDeque<StatisticsStep>,
}

impl SlotHistory {
    fn new(first: SlotReading) -> Self {
        Self { last: first, since: Instant::now(), steps: VecDeque::new() }
    }

    fn step(&mut self, reading: SlotReading) {
        let mut statistics = CallStatistics::of(&reading.since(&self.last));
        statistics.outcomes.retain(|_, calls| *calls > 0);
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(StatisticsStep {
            at: rfc3339_millis(SystemTime::now()),
            seconds: self.since.elapsed().as_secs_f64(),
            statistics,
            in_flight: reading.in_flight,
            waiting: reading.waiting,
        });
        self.last = reading;
        self.since = Instant::now();
    }

    fn last(&self, limit: usize) -> Vec<StatisticsStep> {
        self.steps.iter().skip(self.steps.len().saturating_sub(limit)).cloned().collect()
    }
}

impl StatisticsRecorder {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        let slots = metrics.slots().into_iter();
        let histories = slots.map(|(slot, figures)| (slot, SlotHistory::new(figures.reading()))).collect();
        Self { histories: Mutex::new(histories), metrics }
    }

    fn step(&self) {
        let slots: BTreeMap<SlotId, SlotMetrics> = self.metrics.slots().into_iter().collect();
        let mut histories = self.histories.lock().unwrap_or_else(PoisonError::into_inner);
        // Services add and remove slots while the host runs.
        histories.retain(|slot, _| slots.contains_key(slot));
        for (slot, figures) in slots {
            match histories.entry(slot) {
                Entry::Occupied(mut history) => history.get_mut().step(figures.reading()),
                Entry::Vacant(unknown) => {
                    unknown.insert(SlotHistory::new(figures.reading()));
                }
            }
        }
    }

    fn statistics(&self, slot: SlotId, limit: usize) -> SlotStatistics {
        let reading = self.metrics.slot(slot).reading();
        let histories = self.histories.lock().unwrap_or_else(PoisonError::into_inner);
        SlotStatistics {
            slot: slot.as_str(),
            total: CallStatistics::of(&reading),
            in_flight: reading.in_flight,
            waiting: reading.waiting,
            memory_high_water_bytes: reading.memory_high_water,
            steps: histories.get(&slot).map(|history| history.last(limit)).unwrap_or_default(),
        }
    }
}

/// Records a step of every slot every [`STEP`] until the recorder is dropped.
pub(super) async fn record(recorder: Weak<StatisticsRecorder>) {
    record_every(STEP, recorder).await;
}

async fn record_every(step: Duration, recorder: Weak<StatisticsRecorder>) {
    let mut clock = interval(step);
    // A late step is longer; the steps after it keep their length.
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick completes at once.
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
    parameters: QueryParameters,
) -> Result<Json<SlotStatistics>, AdminApiError> {
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
    fn steps_count_own_calls_total_counts_all() {
        let metrics = Arc::new(Metrics::new("/".into(), [SLOT]).unwrap());
        let slot = metrics.slot(SLOT);
        slot.call("ok", 0.001);
        let recorder = StatisticsRecorder::new(Arc::clone(&metrics));
        recorder.step();
        slot.call("ok", 0.001);
        slot.call("trap", 0.2);
        slot.memory_high_water(99);
        recorder.step();

        let found = recorder.statistics(SLOT, 10);
        assert_eq!((found.total.calls, found.total.outcomes["ok"]), (3, 2));
        assert_eq!(found.total.outcomes.len(), 10, "every outcome is listed");
        assert_eq!(found.memory_high_water_bytes, 99);
        let [before, after] = &found.steps[..] else { panic!("{found:?}") };
        assert_eq!((before.statistics.calls, before.statistics.p50_ms), (0, None));
        assert_eq!(after.statistics.outcomes, BTreeMap::from([("ok", 1), ("trap", 1)]));
        assert!(after.statistics.p99_ms.unwrap() > 100.0);
        assert_eq!(recorder.statistics(SLOT, 1).steps.len(), 1);
        assert_eq!(recorder.statistics(SlotId::new("other"), 10).total.calls, 0);
    }

    #[test]
    fn added_slot_has_steps_until_removed() {
        let metrics = Arc::new(Metrics::new("/".into(), [SLOT]).unwrap());
        let recorder = StatisticsRecorder::new(Arc::clone(&metrics));
        let added = SlotId::new("added");
        let figures = metrics.add_slot(added);
        recorder.step();
        figures.call("ok", 0.001);
        recorder.step();
        let steps = recorder.statistics(added, 10).steps;
        assert_eq!(steps.iter().map(|step| step.statistics.calls).collect::<Vec<_>>(), [1]);
        metrics.remove_slot(added);
        recorder.step();
        assert_eq!(recorder.statistics(added, 10).steps.len(), 0);
    }

    #[test]
    fn only_the_last_steps_are_kept() {
        let mut history = SlotHistory::new(SlotReading::default());
        (0..STEPS + 5).for_each(|_| history.step(SlotReading::default()));
        assert_eq!(history.last(usize::MAX).len(), STEPS);
    }

    #[tokio::test]
    async fn recording_ends_with_the_recorder() {
        let recorder = Arc::new(StatisticsRecorder::new(Arc::new(Metrics::new("/".into(), [SLOT]).unwrap())));
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
