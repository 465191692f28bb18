//! Metrics of the language model, by slot.

use std::{fmt, time::Instant};

use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::{
    MetricSet,
    bounds::REMOTE_TIMES,
    family::{Family, Kind, families},
    series::{Series, SlotSeries},
};
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

families! {
    LLM_CALLS: Kind::Counter, "bulkhead_llm_calls_total" ["slot", "outcome"] "",
        "Calls of the language model by outcome.";
    LLM_TIME: Kind::Histogram(REMOTE_TIMES), "bulkhead_llm_call_seconds" ["slot"] "seconds",
        "Time of a call of the language model, waiting and all attempts included.";
    LLM_TOKENS: Kind::Counter, "bulkhead_llm_tokens_total" ["slot", "direction"] "tokens",
        "Tokens of the language model, as its endpoint counts them.";
    LLM_RETRIES: Kind::Counter, "bulkhead_llm_retries_total" ["slot"] "",
        "Attempts at the language model that were made again.";
    LLM_IN_FLIGHT: Kind::Gauge, "bulkhead_llm_in_flight" ["slot"] "",
        "Calls of the language model running or waiting now.";
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlmOutcome {
    /// With a completion.
    Ok,
    /// The request may not be sent.
    Denied,
    /// The request would use too many tokens.
    OverBudget,
    /// The endpoint does not answer.
    Unavailable,
    /// The response is not a completion.
    InvalidAnswer,
    /// The caller left.
    Cancelled,
}

impl LlmOutcome {
    const ALL: [Self; 6] =
        [Self::Ok, Self::Denied, Self::OverBudget, Self::Unavailable, Self::InvalidAnswer, Self::Cancelled];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Denied => "denied",
            Self::OverBudget => "over-budget",
            Self::Unavailable => "unavailable",
            Self::InvalidAnswer => "invalid-answer",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Metrics of the language model, by slot.
pub struct LlmMetrics {
    calls: Series<IntCounter, 2>,
    time: Series<Histogram, 1>,
    tokens: Series<IntCounter, 2>,
    retries: Series<IntCounter, 1>,
    in_flight: Series<Gauge, 1>,
}

impl fmt::Debug for LlmMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for LlmMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            calls: Series::register(&LLM_CALLS, registry)?,
            time: Series::register(&LLM_TIME, registry)?,
            tokens: Series::register(&LLM_TOKENS, registry)?,
            retries: Series::register(&LLM_RETRIES, registry)?,
            in_flight: Series::register(&LLM_IN_FLIGHT, registry)?,
        })
    }

    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        vec![&self.calls, &self.time, &self.tokens, &self.retries, &self.in_flight]
    }
}

impl LlmMetrics {
    /// Returns the metrics of a slot, which begin at zero.
    pub fn slot(&self, id: SlotId) -> SlotLlmMetrics {
        let slot = id.as_str();
        for outcome in LlmOutcome::ALL {
            self.calls.get([slot, outcome.as_str()]);
        }
        SlotLlmMetrics {
            slot,
            calls: self.calls.clone(),
            time: self.time.get([slot]),
            input: self.tokens.get([slot, "input"]),
            output: self.tokens.get([slot, "output"]),
            retries: self.retries.get([slot]),
            in_flight: self.in_flight.get([slot]),
        }
    }
}

/// Metrics of a slot's calls of the language model. Clones share the series.
#[derive(Clone)]
pub struct SlotLlmMetrics {
    slot: &'static str,
    calls: Series<IntCounter, 2>,
    time: Histogram,
    input: IntCounter,
    output: IntCounter,
    retries: IntCounter,
    in_flight: Gauge,
}

impl fmt::Debug for SlotLlmMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotLlmMetrics").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotLlmMetrics {
    /// Counts a call as running until the returned value is dropped.
    pub fn begin(&self) -> LlmCall<'_> {
        self.in_flight.inc();
        LlmCall { metrics: self, since: Instant::now(), outcome: LlmOutcome::Cancelled }
    }

    /// Counts the tokens of a call, as reported by the endpoint.
    pub(crate) fn record_tokens(&self, input: u64, output: u64) {
        self.input.inc_by(input);
        self.output.inc_by(output);
    }

    /// Counts another attempt.
    pub(crate) fn record_retry(&self) {
        self.retries.inc();
    }
}

/// A running call. If it is dropped without an outcome, its caller has left.
#[derive(Debug)]
pub struct LlmCall<'a> {
    metrics: &'a SlotLlmMetrics,
    since: Instant,
    outcome: LlmOutcome,
}

impl LlmCall<'_> {
    /// Records the outcome of the call.
    pub fn end(mut self, outcome: LlmOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for LlmCall<'_> {
    fn drop(&mut self) {
        let metrics = self.metrics;
        metrics.in_flight.dec();
        metrics.calls.get([metrics.slot, self.outcome.as_str()]).inc();
        metrics.time.observe(self.since.elapsed().as_secs_f64());
    }
}
