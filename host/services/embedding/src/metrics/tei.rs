//! The metrics of text-embeddings-inference, for dashboards that were made for it.

use std::{fmt, time::Duration};

use bulkhead_inference::{engine::TextTimes, model::ModelTask};
use bulkhead_telemetry::{
    MetricSet,
    bounds::TIMES,
    family::{Family, Kind, families},
    series::{Cell, Series},
};
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

use super::EmbeddingTimes;

/// Bounds of tokens a text, and a batch.
const TOKENS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0, 8192.0];

/// Bounds of texts a batch.
const TEXTS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The families of each text that is embedded, and of each that is classified or ranked.
const EMBED: [&Family; 6] = [
    &TEI_EMBED_COUNT,
    &TEI_EMBED_SUCCESS,
    &TEI_EMBED_TIME,
    &TEI_EMBED_TOKENIZE,
    &TEI_EMBED_QUEUE,
    &TEI_EMBED_INFERENCE,
];
const PREDICT: [&Family; 6] = [
    &TEI_PREDICT_COUNT,
    &TEI_PREDICT_SUCCESS,
    &TEI_PREDICT_TIME,
    &TEI_PREDICT_TOKENIZE,
    &TEI_PREDICT_QUEUE,
    &TEI_PREDICT_INFERENCE,
];

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
        "Tokens of a text after truncation.";
    TEI_WAITING: Kind::Gauge, "te_queue_size" [] "",
        "Texts waiting for an inference thread.";
    TEI_BATCH_TEXTS: Kind::Histogram(TEXTS), "te_batch_next_size" [] "",
        "Texts of a batch.";
    TEI_BATCH_TOKENS: Kind::Histogram(TOKENS), "te_batch_next_tokens" [] "",
        "Tokens of a batch.";
    TEI_EMBED_COUNT: Kind::Counter, "te_embed_count" [] "",
        "Texts in requests to embed them, with those that failed.";
    TEI_EMBED_SUCCESS: Kind::Counter, "te_embed_success" [] "",
        "Texts that were embedded for requests.";
    TEI_EMBED_TIME: Kind::Histogram(TIMES), "te_embed_duration" [] "",
        "Seconds from the arrival of a text in the queue to the end of its batch.";
    TEI_EMBED_TOKENIZE: Kind::Histogram(TIMES), "te_embed_tokenization_duration" [] "",
        "Seconds of a text's tokenization.";
    TEI_EMBED_QUEUE: Kind::Histogram(TIMES), "te_embed_queue_duration" [] "",
        "Seconds from the arrival of a text in the queue to its batch, without its tokenization.";
    TEI_EMBED_INFERENCE: Kind::Histogram(TIMES), "te_embed_inference_duration" [] "",
        "Seconds of a text's share of its batch, by tokens.";
    TEI_PREDICT_COUNT: Kind::Counter, "te_predict_count" [] "",
        "Texts and pairs in requests to classify or rank them, with those that failed.";
    TEI_PREDICT_SUCCESS: Kind::Counter, "te_predict_success" [] "",
        "Texts and pairs that were classified or ranked for requests.";
    TEI_PREDICT_TIME: Kind::Histogram(TIMES), "te_predict_duration" [] "",
        "As te_embed_duration, of a text or pair that was classified or ranked.";
    TEI_PREDICT_TOKENIZE: Kind::Histogram(TIMES), "te_predict_tokenization_duration" [] "",
        "As te_embed_tokenization_duration, of a text or pair that was classified or ranked.";
    TEI_PREDICT_QUEUE: Kind::Histogram(TIMES), "te_predict_queue_duration" [] "",
        "As te_embed_queue_duration, of a text or pair that was classified or ranked.";
    TEI_PREDICT_INFERENCE: Kind::Histogram(TIMES), "te_predict_inference_duration" [] "",
        "As te_embed_inference_duration, of a text or pair that was classified or ranked.";
}

/// Metrics of texts that models of one task work on.
struct TextMetrics {
    count: IntCounter,
    success: IntCounter,
    time: Histogram,
    tokenize: Histogram,
    queue: Histogram,
    inference: Histogram,
}

impl TextMetrics {
    fn register(families: [&'static Family; 6], registry: &Registry) -> Result<Self> {
        let [count, success, time, tokenize, queue, inference] = families;
        Ok(Self {
            count: cell(count, registry)?,
            success: cell(success, registry)?,
            time: cell(time, registry)?,
            tokenize: cell(tokenize, registry)?,
            queue: cell(queue, registry)?,
            inference: cell(inference, registry)?,
        })
    }

    fn record(&self, texts: &[TextTimes]) {
        self.success.inc_by(texts.len() as u64);
        for text in texts {
            self.time.observe(text.total.as_secs_f64());
            self.tokenize.observe(text.tokenizing.as_secs_f64());
            self.queue.observe(text.queued.as_secs_f64());
            self.inference.observe(text.inference.as_secs_f64());
        }
    }
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
    embed: TextMetrics,
    predict: TextMetrics,
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
            time: cell(&TEI_TIME, registry)?,
            tokenize: cell(&TEI_TOKENIZE, registry)?,
            queue: cell(&TEI_QUEUE, registry)?,
            inference: cell(&TEI_INFERENCE, registry)?,
            length: cell(&TEI_LENGTH, registry)?,
            batch_texts: cell(&TEI_BATCH_TEXTS, registry)?,
            batch_tokens: cell(&TEI_BATCH_TOKENS, registry)?,
            embed: TextMetrics::register(EMBED, registry)?,
            predict: TextMetrics::register(PREDICT, registry)?,
            waiting: cell(&TEI_WAITING, registry)?,
        };
        // At 0 from the start, so that a rate sees the first event.
        METHODS.iter().for_each(|method| drop(metrics.count.get([*method])));
        EMBEDDED.iter().for_each(|method| drop(metrics.success.get([*method])));
        FAILURES.iter().for_each(|failure| drop(metrics.failure.get([*failure])));
        Ok(metrics)
    }
}

/// Registers a family without labels, and returns its only series.
fn cell<T: Cell>(family: &'static Family, registry: &Registry) -> Result<T> {
    Ok(Series::<T, 0>::register(family, registry)?.get([]))
}

impl TeiMetrics {
    /// Counts a batch of so many texts and tokens.
    pub fn record_batch(&self, texts: usize, tokens: usize) {
        self.batch_texts.observe(texts as f64);
        self.batch_tokens.observe(tokens as f64);
    }

    /// Counts the texts of a request for a model of this task.
    pub fn count_texts(&self, task: ModelTask, texts: usize) {
        self.texts(task).count.inc_by(texts as u64);
    }

    /// Counts what the texts of a request took, which a model of this task has worked on.
    pub fn record_texts(&self, task: ModelTask, texts: &[TextTimes]) {
        self.texts(task).record(texts);
        for text in texts {
            self.length.observe(text.tokens as f64);
        }
    }

    fn texts(&self, task: ModelTask) -> &TextMetrics {
        match task {
            ModelTask::Embed | ModelTask::Terms => &self.embed,
            ModelTask::Classify => &self.predict,
        }
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
