//! Figures of inference, by model, and by slot what guests use of it: their waiting and computing is charged here, not to
//! their CPU budget.

use std::{fmt, time::Duration};

use bulkhead_config::slots::SlotId;
use bulkhead_inference::engine::Embedded;
use bulkhead_telemetry::{
    MetricSet,
    bounds::TIMES,
    family::{Family, Kind, families},
    series::Series,
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

/// What a request's texts took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Texts.
    pub texts: usize,
    /// Tokens, after cutting.
    pub tokens: usize,
    /// Texts that were cut.
    pub truncated: usize,
    /// Time until a thread took the request up.
    pub queued: Duration,
    /// Processor time of tokenisation.
    pub tokenizing: Duration,
    /// Time of its share of batches.
    pub inference: Duration,
}

impl Spent {
    /// Returns what these vectors took.
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

/// Why a guest's embedding call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedInference {
    /// The slot has used its tokens of this second.
    TokensPerSecond,
    /// The model is not on the slot's list, or not loaded.
    Model,
    /// The call asks for what cannot be.
    Invalid,
    /// The queue is full, the deadline over, or inference failed.
    Unavailable,
}

impl RefusedInference {
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

/// Figures of inference: what each model does, and what the guests of each slot use of it.
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
}

impl InferenceMetrics {
    /// Returns the figures of what a slot's guests use.
    pub fn slot(&self, id: SlotId) -> SlotInference {
        let slot = id.as_str();
        for reason in RefusedInference::ALL {
            self.slot_refused.get([slot, reason.as_str()]);
        }
        SlotInference {
            slot,
            tokens: self.slot_tokens.clone(),
            queue: self.slot_queue.get([slot]),
            compute: self.slot_compute.get([slot]),
            refused: self.slot_refused.clone(),
        }
    }

    /// Names a model that is served: what its texts take begins at zero.
    pub fn know_model(&self, model: &str) {
        for counter in [&self.texts, &self.tokens, &self.truncated] {
            counter.get([model]);
        }
        for times in [&self.queue, &self.tokenize, &self.inference] {
            times.get([model]);
        }
    }

    /// Counts what embedding a request's texts took.
    pub fn embedded(&self, model: &str, spent: &Spent) {
        self.texts.get([model]).inc_by(spent.texts as u64);
        self.tokens.get([model]).inc_by(spent.tokens as u64);
        self.truncated.get([model]).inc_by(spent.truncated as u64);
        self.queue.get([model]).observe(spent.queued.as_secs_f64());
        self.tokenize.get([model]).observe(spent.tokenizing.as_secs_f64());
        self.inference.get([model]).observe(spent.inference.as_secs_f64());
    }
}

/// What one slot's guests use of inference. Clones share the figures.
#[derive(Clone)]
pub struct SlotInference {
    slot: &'static str,
    tokens: Series<IntCounter, 2>,
    queue: Histogram,
    compute: Histogram,
    refused: Series<IntCounter, 2>,
}

impl fmt::Debug for SlotInference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotInference").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotInference {
    /// Names a model that the slot may use: its tokens begin at zero.
    pub fn know_model(&self, model: &str) {
        self.tokens.get([self.slot, model]);
    }

    /// Counts what a call took.
    pub fn spent(&self, model: &str, spent: &Spent) {
        self.tokens.get([self.slot, model]).inc_by(spent.tokens as u64);
        self.queue.observe(spent.queued.as_secs_f64());
        self.compute.observe((spent.tokenizing + spent.inference).as_secs_f64());
    }

    /// Counts a call that was refused.
    pub fn refused(&self, reason: RefusedInference) {
        self.refused.get([self.slot, reason.as_str()]).inc();
    }
}
