//! Metrics of inference by model, and of its use by guests by slot. Waiting and computing is counted here, not in the CPU
//! budget of guests.

use std::{fmt, time::Duration};

use bulkhead_config::slots::SlotId;
use bulkhead_inference::engine::Embedded;
use bulkhead_telemetry::{
    MetricSet,
    bounds::TIMES,
    family::{Family, Kind, families},
    series::{Series, SlotSeries},
};
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

families! {
    INFERENCE_TOKENS: Kind::Counter, "bulkhead_inference_tokens_total" ["slot", "model"] "tokens",
        "Tokens that a slot's guests had embedded.";
    INFERENCE_QUEUE: Kind::Histogram(TIMES), "bulkhead_inference_queue_seconds" ["slot"] "seconds",
        "Time that a guest's texts waited for an inference thread.";
    INFERENCE_COMPUTE: Kind::Histogram(TIMES), "bulkhead_inference_compute_seconds" ["slot"] "seconds",
        "Time of a guest's share of inference, tokenisation included.";
    INFERENCE_REFUSED: Kind::Counter, "bulkhead_inference_refused_total" ["slot", "reason"] "",
        "Embedding calls of guests that were refused.";

    EMBEDDING_TEXTS: Kind::Counter, "embedding_texts_total" ["model"] "",
        "Embedded texts.";
    EMBEDDING_TOKENS: Kind::Counter, "embedding_tokens_total" ["model"] "",
        "Embedded tokens.";
    EMBEDDING_TRUNCATED: Kind::Counter, "embedding_truncated_texts_total" ["model"] "",
        "Texts that were cut to the model's limit.";
    EMBEDDING_QUEUE: Kind::Histogram(TIMES), "embedding_queue_seconds" ["model"] "seconds",
        "Time until an inference thread took a request up.";
    EMBEDDING_TOKENIZE: Kind::Histogram(TIMES), "embedding_tokenize_seconds" ["model"] "seconds",
        "Processor time of a request's tokenisation.";
    EMBEDDING_INFERENCE: Kind::Histogram(TIMES), "embedding_inference_seconds" ["model"] "seconds",
        "Time of a request's share of batches.";
    EMBEDDING_WAITING: Kind::Gauge, "embedding_waiting_texts" [] "",
        "Texts waiting for an inference thread.";
}

/// The resources that a request used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InferenceUsage {
    /// Number of texts.
    pub texts: usize,
    /// Number of tokens after truncation.
    pub tokens: usize,
    /// Number of truncated texts.
    pub truncated: usize,
    /// Time until a thread took the request.
    pub queued: Duration,
    /// Processor time of tokenisation.
    pub tokenizing: Duration,
    /// Its share of the time of batches.
    pub inference: Duration,
}

impl InferenceUsage {
    /// Returns the resources that these vectors used.
    pub fn of(embedded: &Embedded) -> Self {
        Self {
            texts: embedded.vectors.len() / embedded.dims.max(1),
            tokens: embedded.tokens,
            truncated: embedded.truncated,
            queued: embedded.queued,
            tokenizing: embedded.tokenizing,
            inference: embedded.inference,
        }
    }
}

/// Why a guest's embedding call was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// The slot has used its tokens of this second.
    TokensPerSecond,
    /// The model is not on the slot's list, or not loaded.
    Model,
    /// The call is invalid.
    Invalid,
    /// The queue is full, the deadline has passed, or inference failed.
    Unavailable,
}

impl RejectionReason {
    const ALL: [Self; 4] = [Self::TokensPerSecond, Self::Model, Self::Invalid, Self::Unavailable];

    const fn as_str(self) -> &'static str {
        match self {
            Self::TokensPerSecond => "tokens-per-second",
            Self::Model => "model",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Metrics of inference by model, and of its use by guests by slot.
pub struct InferenceMetrics {
    slot_tokens: Series<IntCounter, 2>,
    slot_queue: Series<Histogram, 1>,
    slot_compute: Series<Histogram, 1>,
    slot_refused: Series<IntCounter, 2>,
    texts: Series<IntCounter, 1>,
    tokens: Series<IntCounter, 1>,
    truncated: Series<IntCounter, 1>,
    queue: Series<Histogram, 1>,
    tokenize: Series<Histogram, 1>,
    inference: Series<Histogram, 1>,
    /// Texts waiting for an inference thread.
    pub waiting: Gauge,
}

impl fmt::Debug for InferenceMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InferenceMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for InferenceMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            slot_tokens: Series::register(&INFERENCE_TOKENS, registry)?,
            slot_queue: Series::register(&INFERENCE_QUEUE, registry)?,
            slot_compute: Series::register(&INFERENCE_COMPUTE, registry)?,
            slot_refused: Series::register(&INFERENCE_REFUSED, registry)?,
            texts: Series::register(&EMBEDDING_TEXTS, registry)?,
            tokens: Series::register(&EMBEDDING_TOKENS, registry)?,
            truncated: Series::register(&EMBEDDING_TRUNCATED, registry)?,
            queue: Series::register(&EMBEDDING_QUEUE, registry)?,
            tokenize: Series::register(&EMBEDDING_TOKENIZE, registry)?,
            inference: Series::register(&EMBEDDING_INFERENCE, registry)?,
            waiting: Series::<Gauge, 0>::register(&EMBEDDING_WAITING, registry)?.get([]),
        })
    }

    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        vec![&self.slot_tokens, &self.slot_queue, &self.slot_compute, &self.slot_refused]
    }
}

impl InferenceMetrics {
    /// Returns the metrics of a slot's guests.
    pub fn slot(&self, id: SlotId) -> SlotInferenceMetrics {
        let slot = id.as_str();
        for reason in RejectionReason::ALL {
            self.slot_refused.get([slot, reason.as_str()]);
        }
        SlotInferenceMetrics {
            slot,
            tokens: self.slot_tokens.clone(),
            queue: self.slot_queue.get([slot]),
            compute: self.slot_compute.get([slot]),
            refused: self.slot_refused.clone(),
        }
    }

    /// Creates the series of a served model, at zero.
    pub(crate) fn init_model(&self, model: &str) {
        for counter in [&self.texts, &self.tokens, &self.truncated] {
            counter.get([model]);
        }
        for times in [&self.queue, &self.tokenize, &self.inference] {
            times.get([model]);
        }
    }

    /// Counts the resources that embedding a request used.
    pub(crate) fn record_embedding(&self, model: &str, usage: &InferenceUsage) {
        self.texts.get([model]).inc_by(usage.texts as u64);
        self.tokens.get([model]).inc_by(usage.tokens as u64);
        self.truncated.get([model]).inc_by(usage.truncated as u64);
        self.queue.get([model]).observe(usage.queued.as_secs_f64());
        self.tokenize.get([model]).observe(usage.tokenizing.as_secs_f64());
        self.inference.get([model]).observe(usage.inference.as_secs_f64());
    }
}

/// Metrics of the use of inference by a slot's guests. Clones share the series.
#[derive(Clone)]
pub struct SlotInferenceMetrics {
    slot: &'static str,
    tokens: Series<IntCounter, 2>,
    queue: Histogram,
    compute: Histogram,
    refused: Series<IntCounter, 2>,
}

impl fmt::Debug for SlotInferenceMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotInferenceMetrics").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotInferenceMetrics {
    /// Creates the series of a model that the slot may use, at zero.
    pub(crate) fn init_model(&self, model: &str) {
        self.tokens.get([self.slot, model]);
    }

    /// Counts the resources that a call used.
    pub(crate) fn record_usage(&self, model: &str, usage: &InferenceUsage) {
        self.tokens.get([self.slot, model]).inc_by(usage.tokens as u64);
        self.queue.observe(usage.queued.as_secs_f64());
        self.compute.observe((usage.tokenizing + usage.inference).as_secs_f64());
    }

    /// Counts a rejected call.
    pub(crate) fn record_rejection(&self, reason: RejectionReason) {
        self.refused.get([self.slot, reason.as_str()]).inc();
    }
}
