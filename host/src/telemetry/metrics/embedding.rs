//! Figures of the embedding service. Paths are route templates, models are configured ones.

use std::{fmt, time::Duration};

use bulkhead_inference::engine::Embedded;
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

use super::http::method_label;
use crate::telemetry::{catalog, series::Series};

/// Statuses whose count begins at 0, so that an alert sees the first.
const ERRORS: [&str; 2] = ["500", "503"];

/// An answered call.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingCall<'a> {
    /// The method as the client sent it.
    pub method: &'a str,
    /// The route's template.
    pub route: &'a str,
    /// The answer's status.
    pub status: u16,
    /// Canonical id of the model that answered, or `none`.
    pub model: &'a str,
    /// From the request's head to the answer's.
    pub elapsed: Duration,
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
    /// What these vectors took.
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

/// Figures of the embedding service.
pub struct Embedding {
    requests: Series<IntCounter, 4>,
    request_time: Series<Histogram, 3>,
    errors: Series<IntCounter, 1>,
    texts: Series<IntCounter, 1>,
    tokens: Series<IntCounter, 1>,
    truncated: Series<IntCounter, 1>,
    queue: Series<Histogram, 1>,
    tokenize: Series<Histogram, 1>,
    inference: Series<Histogram, 1>,
    /// Texts waiting for an inference thread.
    pub waiting: Gauge,
}

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedding").finish_non_exhaustive()
    }
}

impl Embedding {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        let errors = Series::register(&catalog::EMBEDDING_ERRORS, registry)?;
        for status in ERRORS {
            errors.get([status]);
        }
        Ok(Self {
            requests: Series::register(&catalog::EMBEDDING_REQUESTS, registry)?,
            request_time: Series::register(&catalog::EMBEDDING_REQUEST_TIME, registry)?,
            errors,
            texts: Series::register(&catalog::EMBEDDING_TEXTS, registry)?,
            tokens: Series::register(&catalog::EMBEDDING_TOKENS, registry)?,
            truncated: Series::register(&catalog::EMBEDDING_TRUNCATED, registry)?,
            queue: Series::register(&catalog::EMBEDDING_QUEUE, registry)?,
            tokenize: Series::register(&catalog::EMBEDDING_TOKENIZE, registry)?,
            inference: Series::register(&catalog::EMBEDDING_INFERENCE, registry)?,
            waiting: Series::<Gauge, 0>::register(&catalog::EMBEDDING_WAITING, registry)?.get([]),
        })
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

    /// Counts an answered call.
    pub fn answered(&self, call: &EmbeddingCall<'_>) {
        let (method, status) = (method_label(call.method), call.status.to_string());
        self.requests.get([method, call.route, &status, call.model]).inc();
        let time = self.request_time.get([method, call.route, call.model]);
        time.observe(call.elapsed.as_secs_f64());
        if call.status >= 500 {
            self.errors.get([&status]).inc();
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
