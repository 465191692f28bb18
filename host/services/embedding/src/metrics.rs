//! Metrics of the embedding service. Label values of paths are route templates, those of models are configured models.

mod tei;

use std::{fmt, time::Duration};

use bulkhead_models::metrics as models;
use bulkhead_telemetry::{
    MetricSet,
    bounds::TIMES,
    family::{Family, Kind, families},
    metrics::method_label,
    series::Series,
};
use prometheus::{Histogram, IntCounter, Registry, Result};

pub use self::tei::TeiMetrics;

families! {
    EMBEDDING_REQUESTS: Kind::Counter, "http_requests_total" ["method", "path", "status", "model"] "",
        "Requests to the embedding service, by route.";
    EMBEDDING_REQUEST_TIME: Kind::Histogram(TIMES), "http_request_duration_seconds"
        ["method", "path", "model"] "seconds",
        "Time to answer a request to the embedding service.";
    EMBEDDING_ERRORS: Kind::Counter, "http_errors_total" ["status"] "",
        "Requests to the embedding service that it could not answer.";
}

/// The families on the embedding service's own metrics page.
pub static PAGE: [&Family; 37] = [
    &EMBEDDING_REQUESTS,
    &EMBEDDING_REQUEST_TIME,
    &EMBEDDING_ERRORS,
    &models::EMBEDDING_TEXTS,
    &models::EMBEDDING_TOKENS,
    &models::EMBEDDING_TRUNCATED,
    &models::EMBEDDING_QUEUE,
    &models::EMBEDDING_TOKENIZE,
    &models::EMBEDDING_INFERENCE,
    &models::EMBEDDING_WAITING,
    &models::EMBEDDING_CALLER_WAITING,
    &models::EMBEDDING_CALLER_QUEUE,
    &models::EMBEDDING_CALLER_TURNS,
    &models::EMBEDDING_CALLER_REFUSED,
    &tei::TEI_COUNT,
    &tei::TEI_SUCCESS,
    &tei::TEI_FAILURE,
    &tei::TEI_TIME,
    &tei::TEI_TOKENIZE,
    &tei::TEI_QUEUE,
    &tei::TEI_INFERENCE,
    &tei::TEI_LENGTH,
    &tei::TEI_WAITING,
    &tei::TEI_BATCH_TEXTS,
    &tei::TEI_BATCH_TOKENS,
    &tei::TEI_EMBED_COUNT,
    &tei::TEI_EMBED_SUCCESS,
    &tei::TEI_EMBED_TIME,
    &tei::TEI_EMBED_TOKENIZE,
    &tei::TEI_EMBED_QUEUE,
    &tei::TEI_EMBED_INFERENCE,
    &tei::TEI_PREDICT_COUNT,
    &tei::TEI_PREDICT_SUCCESS,
    &tei::TEI_PREDICT_TIME,
    &tei::TEI_PREDICT_TOKENIZE,
    &tei::TEI_PREDICT_QUEUE,
    &tei::TEI_PREDICT_INFERENCE,
];

/// Statuses whose series begin at 0, so that an alert sees the first error.
const ERRORS: [&str; 2] = ["500", "503"];

/// An answered request, for its metrics.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingCall<'a> {
    /// The method as the client sent it.
    pub method: &'a str,
    /// The route's template.
    pub route: &'a str,
    /// The status of the response.
    pub status: u16,
    /// Canonical id of the model that answered, or `none`.
    pub model: &'a str,
    /// Time from the request's head to the response's head.
    pub elapsed: Duration,
}

/// What embedding the texts of a request took.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingTimes {
    /// Number of texts.
    pub texts: usize,
    /// Time until a thread took the request.
    pub queued: Duration,
    /// Processor time of tokenization.
    pub tokenizing: Duration,
    /// Its share of the time of batches.
    pub inference: Duration,
}

/// Metrics of the embedding service.
pub struct EmbeddingMetrics {
    requests: Series<IntCounter, 4>,
    request_time: Series<Histogram, 3>,
    errors: Series<IntCounter, 1>,
}

impl fmt::Debug for EmbeddingMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for EmbeddingMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        let errors = Series::register(&EMBEDDING_ERRORS, registry)?;
        for status in ERRORS {
            errors.get([status]);
        }
        Ok(Self {
            requests: Series::register(&EMBEDDING_REQUESTS, registry)?,
            request_time: Series::register(&EMBEDDING_REQUEST_TIME, registry)?,
            errors,
        })
    }
}

impl EmbeddingMetrics {
    /// Counts an answered request.
    pub fn record_request(&self, call: &EmbeddingCall<'_>) {
        let (method, status) = (method_label(call.method), call.status.to_string());
        self.requests.with([method, call.route, &status, call.model], IntCounter::inc);
        let labels = [method, call.route, call.model];
        self.request_time.with(labels, |times| times.observe(call.elapsed.as_secs_f64()));
        if call.status >= 500 {
            self.errors.get([&status]).inc();
        }
    }
}
