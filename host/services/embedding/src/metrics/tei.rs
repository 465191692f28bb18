//! The metrics of text-embeddings-inference, for dashboards that were made for it.

use std::{fmt, time::Duration};

use bulkhead_telemetry::{
    MetricSet,
    bounds::TIMES,
    family::{Family, Kind, families},
    series::Series,
};
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

use super::EmbeddingTimes;

/// Bounds of tokens a text, and a batch.
const TOKENS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0, 8192.0];

/// Bounds of texts a batch.
const TEXTS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Values of `method`: of requests whose texts were embedded, and of all.
const EMBEDDED: [&str; 2] = ["single", "batch"];
const METHODS: [&str; 3] = ["single", "batch", "unknown"];
/// Values of `err`.
const FAILURES: [&str; 4] = ["overloaded", "unhealthy", "inference", "validation"];

families! {
    TEI_COUNT: Kind::Counter, "te_request_count" ["method"] "",
        "Requests to embed one text (single) or several (batch); those that failed are unknown.";
    TEI_SUCCESS: Kind::Counter, "te_request_success" ["method"] "",
        "Requests whose texts were embedded.";
    TEI_FAILURE: Kind::Counter, "te_request_failure" ["err"] "",
        "Requests whose texts were not embedded.";
    TEI_TIME: Kind::Histogram(TIMES), "te_request_duration" [] "",
        "Seconds to answer a request to embed texts.";
    TEI_TOKENIZE: Kind::Histogram(TIMES), "te_request_tokenization_duration" [] "",
        "Processor seconds of a request's tokenization.";
    TEI_QUEUE: Kind::Histogram(TIMES), "te_request_queue_duration" [] "",
        "Seconds until an inference thread took a request up.";
    TEI_INFERENCE: Kind::Histogram(TIMES), "te_request_inference_duration" [] "",
        "Seconds of a request's share of batches.";
    TEI_LENGTH: Kind::Histogram(TOKENS), "te_request_input_length" [] "",
        "Tokens of a text, in the mean of its request.";
    TEI_WAITING: Kind::Gauge, "te_queue_size" [] "",
        "Texts waiting for an inference thread.";
    TEI_BATCH_TEXTS: Kind::Histogram(TEXTS), "te_batch_next_size" [] "",
        "Texts of a batch.";
    TEI_BATCH_TOKENS: Kind::Histogram(TOKENS), "te_batch_next_tokens" [] "",
        "Tokens of a batch.";
}

/// Metrics under the names of text-embeddings-inference.
pub struct TeiMetrics {
    count: Series<IntCounter, 1>,
    success: Series<IntCounter, 1>,
    failure: Series<IntCounter, 1>,
    time: Histogram,
    tokenize: Histogram,
    queue: Histogram,
    inference: Histogram,
    length: Histogram,
    batch_texts: Histogram,
    batch_tokens: Histogram,
    /// Texts waiting for an inference thread.
    pub waiting: Gauge,
}

impl fmt::Debug for TeiMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeiMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for TeiMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        let metrics = Self {
            count: Series::register(&TEI_COUNT, registry)?,
            success: Series::register(&TEI_SUCCESS, registry)?,
            failure: Series::register(&TEI_FAILURE, registry)?,
            time: histogram(&TEI_TIME, registry)?,
            tokenize: histogram(&TEI_TOKENIZE, registry)?,
            queue: histogram(&TEI_QUEUE, registry)?,
            inference: histogram(&TEI_INFERENCE, registry)?,
            length: histogram(&TEI_LENGTH, registry)?,
            batch_texts: histogram(&TEI_BATCH_TEXTS, registry)?,
            batch_tokens: histogram(&TEI_BATCH_TOKENS, registry)?,
            waiting: Series::<Gauge, 0>::register(&TEI_WAITING, registry)?.get([]),
        };
        // At 0 from the start, so that a rate sees the first event.
        METHODS.iter().for_each(|method| drop(metrics.count.get([*method])));
        EMBEDDED.iter().for_each(|method| drop(metrics.success.get([*method])));
        FAILURES.iter().for_each(|failure| drop(metrics.failure.get([*failure])));
        Ok(metrics)
    }
}

fn histogram(family: &'static Family, registry: &Registry) -> Result<Histogram> {
    Ok(Series::<Histogram, 0>::register(family, registry)?.get([]))
}

impl TeiMetrics {
    /// Counts a batch of so many texts and tokens.
    pub fn record_batch(&self, texts: usize, tokens: usize) {
        self.batch_texts.observe(texts as f64);
        self.batch_tokens.observe(tokens as f64);
    }

    /// Counts an answered request to embed texts: what it took, if they were embedded, else by its `status`.
    pub fn record(&self, work: Option<&EmbeddingTimes>, status: u16, elapsed: Duration) {
        let method = work.map_or("unknown", |work| if work.texts > 1 { "batch" } else { "single" });
        self.count.get([method]).inc();
        self.time.observe(elapsed.as_secs_f64());
        let Some(work) = work else {
            self.failure.get([failure(status)]).inc();
            return;
        };
        self.success.get([method]).inc();
        self.tokenize.observe(work.tokenizing.as_secs_f64());
        self.queue.observe(work.queued.as_secs_f64());
        self.inference.observe(work.inference.as_secs_f64());
        self.length.observe(work.tokens as f64 / work.texts.max(1) as f64);
    }
}

/// Returns what text-embeddings-inference calls the error of a status, in its metrics.
fn failure(status: u16) -> &'static str {
    match status {
        429 => "overloaded",
        503 => "unhealthy",
        500.. => "inference",
        _ => "validation",
    }
}
