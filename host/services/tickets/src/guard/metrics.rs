//! Metrics of the guardrail service, by slot.

use std::{fmt, time::Duration};

use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::{
    MetricSet,
    bounds::REMOTE_TIMES,
    family::{Family, Kind, families},
    series::{Series, SlotSeries},
};
use prometheus::{Histogram, IntCounter, Registry, Result};

families! {
    GUARD_CHECKS: Kind::Counter, "bulkhead_guard_checks_total" ["slot", "type", "outcome"] "",
        "Checks by the guardrail service by outcome.";
    GUARD_TIME: Kind::Histogram(REMOTE_TIMES), "bulkhead_guard_seconds" ["slot"] "seconds",
        "Time of a check by the guardrail service.";
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardOutcome {
    /// The text is safe.
    Safe,
    /// The text is unsafe.
    Unsafe,
    /// The service gave no valid verdict.
    Unavailable,
}

impl GuardOutcome {
    const ALL: [Self; 3] = [Self::Safe, Self::Unsafe, Self::Unavailable];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
            Self::Unavailable => "unavailable",
        }
    }
}

/// The kinds of checked texts.
const TYPES: [&str; 2] = ["prompt", "response"];

/// Metrics of the guardrail service, by slot.
pub struct GuardMetrics {
    checks: Series<IntCounter, 3>,
    time: Series<Histogram, 1>,
}

impl fmt::Debug for GuardMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for GuardMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            checks: Series::register(&GUARD_CHECKS, registry)?,
            time: Series::register(&GUARD_TIME, registry)?,
        })
    }

    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        vec![&self.checks, &self.time]
    }
}

impl GuardMetrics {
    /// Returns the metrics of a slot, which begin at zero.
    pub fn slot(&self, id: SlotId) -> SlotGuardMetrics {
        let slot = id.as_str();
        for kind in TYPES {
            for outcome in GuardOutcome::ALL {
                self.checks.get([slot, kind, outcome.as_str()]);
            }
        }
        SlotGuardMetrics { slot, checks: self.checks.clone(), time: self.time.get([slot]) }
    }
}

/// Metrics of a slot's checks. Clones share the series.
#[derive(Clone)]
pub struct SlotGuardMetrics {
    slot: &'static str,
    checks: Series<IntCounter, 3>,
    time: Histogram,
}

impl fmt::Debug for SlotGuardMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotGuardMetrics").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotGuardMetrics {
    /// Counts a check of a `prompt` or a `response`.
    pub(crate) fn record_check(&self, kind: &'static str, outcome: GuardOutcome, elapsed: Duration) {
        self.checks.get([self.slot, kind, outcome.as_str()]).inc();
        self.time.observe(elapsed.as_secs_f64());
    }
}
