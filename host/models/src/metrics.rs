//! Metrics of inference by model, and of its use by guests by slot. Waiting and computing is counted here, not in the CPU
//! budget of guests.

use std::{fmt, time::Duration};

use bulkhead_config::slots::SlotId;
use bulkhead_inference::engine::{CallerKind, Embedded, Stats};
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
        "Time of a guest's share of inference, tokenization included.";
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
        "Processor time of a request's tokenization.";
    EMBEDDING_INFERENCE: Kind::Histogram(TIMES), "embedding_inference_seconds" ["model"] "seconds",
        "Time of a request's share of batches.";
    EMBEDDING_WAITING: Kind::Gauge, "embedding_waiting_texts" [] "",
        "Texts waiting for an inference thread.";

    EMBEDDING_CALLER_WAITING: Kind::Gauge, "embedding_caller_waiting_texts" ["caller"] "",
        "Texts of slots, keys and anonymous callers waiting for an inference thread.";
    EMBEDDING_CALLER_QUEUE: Kind::Histogram(TIMES), "embedding_caller_queue_seconds" ["caller"] "seconds",
        "Time until the first turn of a request that gives vectors.";
    EMBEDDING_CALLER_TURNS: Kind::Histogram(TURNS), "embedding_caller_queue_turns" ["caller"] "",
        "Turns of inference threads that began while a request waited for its first.";
    EMBEDDING_CALLER_REFUSED: Kind::Counter, "embedding_caller_refused_total" ["caller", "reason"] "",
        "Embedding requests that were refused, because of the queue, the deadline, their size, or the key's quota.";
}

/// Bounds for turns.
const TURNS: &[f64] = &[0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0];

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
    /// Processor time of tokenization.
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
pub enum InferenceRejection {
    /// The slot has used its tokens of this second.
    TokensPerSecond,
    /// The model is not on the slot's list, or not loaded.
    Model,
    /// The call is invalid.
    Invalid,
    /// The queue is full, the deadline has passed, or inference failed.
    Unavailable,
}

impl InferenceRejection {
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

/// Why an embedding request was refused that was valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingRefusal {
    /// The queue has no room.
    Queue,
    /// No turn came before the deadline.
    Deadline,
    /// An idle host could not embed it in its time.
    TooLarge,
    /// The key has used its tokens of this second.
    TokensPerSecond,
}

impl EmbeddingRefusal {
    const ALL: [Self; 4] = [Self::Queue, Self::Deadline, Self::TooLarge, Self::TokensPerSecond];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Deadline => "deadline",
            Self::TooLarge => "too-large",
            Self::TokensPerSecond => "tokens-per-second",
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
    waiting: Gauge,
    caller_waiting: Series<Gauge, 1>,
    caller_queue: Series<Histogram, 1>,
    caller_turns: Series<Histogram, 1>,
    caller_refused: Series<IntCounter, 2>,
}

impl fmt::Debug for InferenceMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InferenceMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for InferenceMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        let metrics = Self {
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
            caller_waiting: Series::register(&EMBEDDING_CALLER_WAITING, registry)?,
            caller_queue: Series::register(&EMBEDDING_CALLER_QUEUE, registry)?,
            caller_turns: Series::register(&EMBEDDING_CALLER_TURNS, registry)?,
            caller_refused: Series::register(&EMBEDDING_CALLER_REFUSED, registry)?,
        };
        for caller in CallerKind::ALL.map(CallerKind::as_str) {
            metrics.caller_waiting.get([caller]);
            metrics.caller_queue.get([caller]);
            metrics.caller_turns.get([caller]);
            for reason in EmbeddingRefusal::ALL {
                metrics.caller_refused.get([caller, reason.as_str()]);
            }
        }
        Ok(metrics)
    }

    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        vec![&self.slot_tokens, &self.slot_queue, &self.slot_compute, &self.slot_refused]
    }
}

impl InferenceMetrics {
    /// Returns the metrics of a slot's guests.
    pub fn slot(&self, id: SlotId) -> SlotInferenceMetrics {
        let slot = id.as_str();
        for reason in InferenceRejection::ALL {
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

    /// Sets the gauges of what waits.
    pub fn set_waiting(&self, stats: &Stats) {
        self.waiting.set(stats.waiting_texts as f64);
        for kind in CallerKind::ALL {
            self.caller_waiting.get([kind.as_str()]).set(*stats.waiting_by_kind.get(kind) as f64);
        }
    }

    /// Counts how long a request of a kind of caller waited.
    pub(crate) fn record_wait(&self, kind: CallerKind, embedded: &Embedded) {
        self.caller_queue.get([kind.as_str()]).observe(embedded.queued.as_secs_f64());
        self.caller_turns.get([kind.as_str()]).observe(embedded.queued_turns as f64);
    }

    /// Counts a request of a kind of caller that was refused.
    pub(crate) fn record_refusal(&self, kind: CallerKind, why: EmbeddingRefusal) {
        self.caller_refused.get([kind.as_str(), why.as_str()]).inc();
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
    pub(crate) fn record_rejection(&self, reason: InferenceRejection) {
        self.refused.get([self.slot, reason.as_str()]).inc();
    }
}
