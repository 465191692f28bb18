//! Holds the metrics of slots: calls, times, memory, queue and log.

mod reading;

use std::{
    fmt, mem,
    sync::{Arc, Mutex, PoisonError},
};

use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

pub use self::reading::{Latencies, SlotReading};
use crate::{
    catalog,
    series::{HighWater, Series, SlotSeries},
};

/// Outcomes of a call; their counts exist at zero from the start, so that a rate is right from the first call.
const OUTCOMES: [&str; 10] = [
    "ok",
    "guest-error",
    "trap",
    "cpu-budget",
    "deadline",
    "memory-limit",
    "response-too-large",
    "bad-answer",
    "overloaded",
    "cancelled",
];

/// Changes of the versions that answer; their counts exist at zero from the start.
const CHANGES: [&str; 7] =
    ["swap", "canary", "shadow", "promote", "rollback", "automatic-rollback", "reload"];

/// Levels of components' log lines; their counts exist at zero from the start.
const LOG_LEVELS: [&str; 6] = ["trace", "debug", "info", "warn", "error", "critical"];

/// Roles of loaded versions.
const ROLES: [&str; 2] = ["active", "candidate"];

/// The labels that identify a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionLabels {
    /// Its id.
    pub version: String,
    /// `sha256:` and the hex digits of its component.
    pub component: String,
    /// Where its component came from.
    pub source: String,
}

/// Results of copied calls; their counts exist at zero from the start.
const COMPARISONS: [&str; 4] = ["same", "different", "failed", "skipped"];

/// The families that have a slot label.
pub(super) struct Families {
    calls: Series<IntCounter, 2>,
    instantiate: Series<Histogram, 1>,
    guest: Series<Histogram, 1>,
    call: Series<Histogram, 1>,
    queue: Series<Histogram, 1>,
    memory: Series<HighWater, 1>,
    in_flight: Series<Gauge, 1>,
    queue_depth: Series<Gauge, 1>,
    versions: Series<Gauge, 5>,
    weight: Series<Gauge, 1>,
    circuit_refused: Series<IntCounter, 1>,
    rollouts: Series<IntCounter, 2>,
    shadow: Series<IntCounter, 2>,
    log_dropped: Series<IntCounter, 1>,
    log_lines: Series<IntCounter, 2>,
}

impl Families {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            calls: Series::register(&catalog::CALLS, registry)?,
            instantiate: Series::register(&catalog::INSTANTIATE, registry)?,
            guest: Series::register(&catalog::GUEST, registry)?,
            call: Series::register(&catalog::CALL, registry)?,
            queue: Series::register(&catalog::QUEUE, registry)?,
            memory: Series::register(&catalog::MEMORY_HIGH_WATER, registry)?,
            in_flight: Series::register(&catalog::IN_FLIGHT, registry)?,
            queue_depth: Series::register(&catalog::QUEUE_DEPTH, registry)?,
            versions: Series::register(&catalog::VERSION_INFO, registry)?,
            weight: Series::register(&catalog::CANDIDATE_WEIGHT, registry)?,
            circuit_refused: Series::register(&catalog::CIRCUIT_REFUSED, registry)?,
            rollouts: Series::register(&catalog::ROLLOUTS, registry)?,
            shadow: Series::register(&catalog::SHADOW, registry)?,
            log_dropped: Series::register(&catalog::GUEST_LOG_DROPPED, registry)?,
            log_lines: Series::register(&catalog::GUEST_LOG_LINES, registry)?,
        })
    }

    pub(super) fn slot(&self, slot: &'static str) -> SlotMetrics {
        self.log_dropped.get([slot]);
        for level in LOG_LEVELS {
            self.log_lines.get([slot, level]);
        }
        SlotMetrics {
            slot,
            outcomes: OUTCOMES.map(|outcome| (outcome, self.calls.get([slot, outcome]))),
            call: self.call.get([slot]),
            memory: self.memory.get([slot]),
            versions: self.versions.clone(),
            answering: Arc::default(),
            weight: self.weight.get([slot]),
            circuit_refused: self.circuit_refused.get([slot]),
            rollouts: CHANGES.map(|change| (change, self.rollouts.get([slot, change]))),
            shadow: COMPARISONS.map(|result| (result, self.shadow.get([slot, result]))),
            instantiate: self.instantiate.get([slot]),
            guest: self.guest.get([slot]),
            queue: self.queue.get([slot]),
            in_flight: self.in_flight.get([slot]),
            queue_depth: self.queue_depth.get([slot]),
        }
    }

    /// Removes the series of a slot. Its figures count on where nobody reads them.
    pub(super) fn remove(&self, figures: &SlotMetrics) {
        figures.versions(None, None);
        let every: [&dyn SlotSeries; 15] = [
            &self.calls,
            &self.instantiate,
            &self.guest,
            &self.call,
            &self.queue,
            &self.memory,
            &self.in_flight,
            &self.queue_depth,
            &self.versions,
            &self.weight,
            &self.circuit_refused,
            &self.rollouts,
            &self.shadow,
            &self.log_dropped,
            &self.log_lines,
        ];
        every.iter().for_each(|series| series.remove_slot(figures.slot));
    }

    pub(super) fn log_dropped(&self, slot: &str, bytes: u64) {
        self.log_dropped.get([slot]).inc_by(bytes);
    }

    pub(super) fn log_line(&self, slot: &str, level: &str) {
        self.log_lines.get([slot, level]).inc();
    }
}

/// The figures of one slot. Clones share them.
#[derive(Clone)]
pub struct SlotMetrics {
    slot: &'static str,
    outcomes: [(&'static str, IntCounter); OUTCOMES.len()],
    call: Histogram,
    memory: HighWater,
    versions: Series<Gauge, 5>,
    /// The active version and the candidate.
    answering: Arc<Mutex<[Option<VersionLabels>; ROLES.len()]>>,
    weight: Gauge,
    circuit_refused: IntCounter,
    rollouts: [(&'static str, IntCounter); CHANGES.len()],
    shadow: [(&'static str, IntCounter); COMPARISONS.len()],
    /// Time to make an instance, seconds.
    pub instantiate: Histogram,
    /// Time inside the called export, seconds.
    pub guest: Histogram,
    /// Time that a call waited for a permit, seconds.
    pub queue: Histogram,
    /// Calls running now.
    pub in_flight: Gauge,
    /// Calls waiting for a permit now.
    pub queue_depth: Gauge,
}

impl fmt::Debug for SlotMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotMetrics").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotMetrics {
    /// Counts a call that ended with `outcome` after `seconds`.
    pub fn call(&self, outcome: &str, seconds: f64) {
        if let Some((_, calls)) = self.outcomes.iter().find(|(name, _)| *name == outcome) {
            calls.inc();
        }
        self.call.observe(seconds);
    }

    /// Records the memory that a call used, bytes.
    pub fn memory_high_water(&self, bytes: usize) {
        self.memory.raise(bytes as u64);
    }

    /// Sets a candidate's share of the calls, percent.
    pub fn weight(&self, percent: u8) {
        self.weight.set(percent.into());
    }

    /// Counts a call that the open circuit breaker refused.
    pub fn circuit_refused(&self) {
        self.circuit_refused.inc();
    }

    /// Returns the present figures.
    pub fn reading(&self) -> SlotReading {
        // Gauges that are counted up and down hold whole numbers that are never negative.
        let whole = |gauge: &Gauge| gauge.get() as u64;
        SlotReading {
            outcomes: self.outcomes.iter().map(|(name, calls)| (*name, calls.get())).collect(),
            latencies: Latencies::of(&self.call),
            in_flight: whole(&self.in_flight),
            waiting: whole(&self.queue_depth),
            memory_high_water: self.memory.get(),
        }
    }

    /// Counts a copy of a call.
    pub fn shadow(&self, result: &str) {
        if let Some((_, copies)) = self.shadow.iter().find(|(name, _)| *name == result) {
            copies.inc();
        }
    }

    /// Counts a change of the versions that answer.
    pub fn rollout(&self, change: &str) {
        if let Some((_, changes)) = self.rollouts.iter().find(|(name, _)| *name == change) {
            changes.inc();
        }
    }

    /// Sets the versions that answer, and removes the series of the previous ones.
    pub fn versions(&self, active: Option<VersionLabels>, candidate: Option<VersionLabels>) {
        let mut answering = self.answering.lock().unwrap_or_else(PoisonError::into_inner);
        let before = mem::replace(&mut *answering, [active, candidate]);
        for (role, version) in ROLES.iter().zip(&before) {
            if let Some(VersionLabels { version, component, source }) = version {
                self.versions.remove([self.slot, role, version, component, source]);
            }
        }
        for (role, version) in ROLES.iter().zip(&*answering) {
            if let Some(VersionLabels { version, component, source }) = version {
                self.versions.get([self.slot, role, version, component, source]).set(1.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::exposition::Format;

    fn text(act: impl FnOnce(&Families)) -> String {
        let registry = Registry::new();
        act(&Families::register(&registry).unwrap());
        Format::Text.encode(&registry.gather()).unwrap()
    }

    #[test]
    fn outcomes_are_there_from_the_start() {
        let text = text(|families| {
            let slot = families.slot("first");
            slot.call("trap", 0.5);
        });
        assert!(text.contains("bulkhead_calls_total{outcome=\"trap\",slot=\"first\"} 1\n"));
        for outcome in OUTCOMES.iter().filter(|outcome| **outcome != "trap") {
            let line = format!("bulkhead_calls_total{{outcome=\"{outcome}\",slot=\"first\"}} 0\n");
            assert!(text.contains(&line), "{line}");
        }
        assert!(text.contains("bulkhead_call_seconds_count{slot=\"first\"} 1\n"));
    }

    #[test]
    fn removed_slot_has_no_series() {
        let added = |families: &Families| {
            let slot = families.slot("gone");
            slot.call("ok", 0.5);
            let labels = VersionLabels { version: "a".into(), component: "b".into(), source: "c".into() };
            slot.versions(Some(labels), None);
            slot
        };
        assert!(text(|families| drop(added(families))).contains("slot=\"gone\""));
        let removed = text(|families| {
            families.slot("first");
            families.remove(&added(families));
        });
        assert!(removed.contains("slot=\"first\""), "{removed}");
        assert!(!removed.contains("slot=\"gone\""), "{removed}");
    }

    #[test]
    fn reading_has_the_recorded_figures() {
        let registry = Registry::new();
        let slot = Families::register(&registry).unwrap().slot("first");
        slot.call("ok", 0.001);
        slot.call("trap", 0.001);
        slot.memory_high_water(77);
        slot.in_flight.inc();
        let reading = slot.reading();
        assert_eq!((reading.calls(), reading.in_flight, reading.waiting), (2, 1, 0));
        assert_eq!((reading.memory_high_water, reading.outcomes.len()), (77, OUTCOMES.len()));
        assert!(reading.latencies.quantile(0.99).unwrap() <= 0.001);
    }

    #[test]
    fn versions_have_a_role_each() {
        let labels = |version: &str| VersionLabels {
            version: version.to_owned(),
            component: format!("sha256:{version}"),
            source: "/a.wasm".to_owned(),
        };
        let lines = |act: fn(&SlotMetrics, [VersionLabels; 3])| -> Vec<String> {
            let text = text(|families| act(&families.slot("first"), ["a", "b", "c"].map(labels)));
            text.lines()
                .filter_map(|line| line.strip_prefix("bulkhead_version_info{"))
                .map(str::to_owned)
                .collect()
        };
        let line = |role: &str, version: &str| {
            format!(
                "component=\"sha256:{version}\",role=\"{role}\",slot=\"first\",source=\"/a.wasm\",version=\"{version}\"}} 1"
            )
        };
        let tried = lines(|slot, [a, b, c]| {
            slot.versions(Some(a), Some(b.clone()));
            slot.versions(Some(b), Some(c));
        });
        assert_eq!(tried, [line("active", "b"), line("candidate", "c")]);
        let alone = lines(|slot, [a, b, _]| {
            slot.versions(Some(a.clone()), Some(b));
            slot.versions(Some(a), None);
        });
        assert_eq!(alone, [line("active", "a")]);
        let empty = lines(|slot, [a, ..]| {
            slot.versions(Some(a), None);
            slot.versions(None, None);
        });
        assert_eq!(empty, [""; 0]);
    }
}
