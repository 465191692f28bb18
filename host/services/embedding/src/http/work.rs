//! The headers of an answer: what was cut, which vectors are zero, and what the work took, under the names of
//! text-embeddings-inference.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use bulkhead_inference::{
    engine::{Embedded, Input},
    model::ModelTask,
};
use bulkhead_models::ServedModel;

use super::{
    EmbeddingState,
    observe::{EmbeddingWork, ModelLabel},
};
use crate::metrics::TeiMetrics;

/// The number of texts that were truncated to the model's limit; absent when none was.
const X_TRUNCATED_INPUTS: HeaderName = HeaderName::from_static("x-truncated-inputs");
/// The number of vectors that are zero, with the indices of the first; absent when none is.
const X_ZERO_VECTORS: HeaderName = HeaderName::from_static("x-zero-vectors");
const X_COMPUTE_TYPE: HeaderName = HeaderName::from_static("x-compute-type");
const X_COMPUTE_TIME: HeaderName = HeaderName::from_static("x-compute-time");
const X_COMPUTE_CHARACTERS: HeaderName = HeaderName::from_static("x-compute-characters");
const X_COMPUTE_TOKENS: HeaderName = HeaderName::from_static("x-compute-tokens");
const X_TOTAL_TIME: HeaderName = HeaderName::from_static("x-total-time");
const X_TOKENIZATION_TIME: HeaderName = HeaderName::from_static("x-tokenization-time");
const X_QUEUE_TIME: HeaderName = HeaderName::from_static("x-queue-time");
const X_INFERENCE_TIME: HeaderName = HeaderName::from_static("x-inference-time");

/// All of them, for pages of other origins.
pub const HEADERS: [HeaderName; 10] = [
    X_TRUNCATED_INPUTS,
    X_ZERO_VECTORS,
    X_COMPUTE_TYPE,
    X_COMPUTE_TIME,
    X_COMPUTE_CHARACTERS,
    X_COMPUTE_TOKENS,
    X_TOTAL_TIME,
    X_TOKENIZATION_TIME,
    X_QUEUE_TIME,
    X_INFERENCE_TIME,
];

/// The most indices of zero vectors in the header.
const ZERO_INDICES: usize = 64;

/// A request that a model works on.
#[derive(Clone, Copy, Debug)]
pub struct Work<'s> {
    began: Instant,
    characters: usize,
    task: ModelTask,
    metrics: &'s TeiMetrics,
}

impl<'s> Work<'s> {
    /// Begins the work of `model` on so many texts, or pairs of texts, with so many characters.
    pub fn begin(state: &'s EmbeddingState, model: &ServedModel, texts: usize, characters: usize) -> Self {
        let (task, metrics) = (model.model.task(), &*state.tei_metrics);
        metrics.count_texts(task, texts);
        Self { began: Instant::now(), characters, task, metrics }
    }

    /// Answers `text`, the JSON of vectors, with the headers.
    pub fn answer(self, model: &ServedModel, embedded: &Embedded, text: Vec<u8>) -> Response {
        let mut headers = self.finish(embedded);
        if let Some(zero) = zero_vectors(embedded) {
            headers.insert(X_ZERO_VECTORS, zero);
        }
        (ModelLabel::of(model), EmbeddingWork::of(embedded), headers, text).into_response()
    }

    /// Answers `json`, which has scores and no vectors, with the headers.
    pub fn answer_scores(self, model: &ServedModel, embedded: &Embedded, json: Vec<u8>) -> Response {
        (ModelLabel::of(model), EmbeddingWork::of(embedded), self.finish(embedded), json).into_response()
    }

    /// Counts what the texts took, and returns the headers of an answer without vectors.
    pub fn finish(self, embedded: &Embedded) -> HeaderMap {
        self.metrics.record_texts(self.task, &embedded.text_times);
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(X_COMPUTE_TYPE, HeaderValue::from_static("cpu"));
        let total = self.began.elapsed();
        for (name, number) in [
            (X_COMPUTE_TIME, milliseconds(embedded.tokenizing + embedded.inference)),
            (X_COMPUTE_CHARACTERS, self.characters as u64),
            (X_COMPUTE_TOKENS, embedded.tokens as u64),
            (X_TOTAL_TIME, milliseconds(total)),
            (X_TOKENIZATION_TIME, milliseconds(embedded.tokenizing)),
            (X_QUEUE_TIME, milliseconds(embedded.queued)),
            (X_INFERENCE_TIME, milliseconds(embedded.inference)),
        ] {
            headers.insert(name, HeaderValue::from(number));
        }
        if embedded.truncated > 0 {
            headers.insert(X_TRUNCATED_INPUTS, HeaderValue::from(embedded.truncated));
        }
        headers
    }
}

/// Returns the number of characters of texts.
pub fn characters(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).sum()
}

/// Returns the number of characters of texts and pairs of texts. A question that pairs share is read once, and counts for
/// each.
pub fn characters_of_inputs(inputs: &[Input]) -> usize {
    let count = |text: &str| text.chars().count();
    let mut question: Option<(&Arc<str>, usize)> = None;
    let mut characters = 0_usize;
    for input in inputs {
        let own = match input {
            Input::Text(text) => count(text),
            Input::Pair(first, second) => {
                let known = question.filter(|(known, _)| Arc::ptr_eq(known, first));
                let (_, length) = *question.insert(known.unwrap_or_else(|| (first, count(first))));
                length + count(second)
            }
            Input::Ids(_) => 0,
        };
        characters = characters.saturating_add(own);
    }
    characters
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns how many vectors are zero and the indices of the first; `None` if none is.
fn zero_vectors(embedded: &Embedded) -> Option<HeaderValue> {
    let rows = embedded.vectors.chunks_exact(embedded.dims.max(1)).enumerate();
    let is_zero = |(index, row): (usize, &[f32])| row.iter().all(|number| *number == 0.0).then_some(index);
    let zero: Vec<usize> = rows.filter_map(is_zero).collect();
    let first: Vec<String> = zero.iter().take(ZERO_INDICES).map(usize::to_string).collect();
    let text = format!("{}; inputs=\"{}\"", zero.len(), first.join(" "));
    HeaderValue::try_from(text).ok().filter(|_| !zero.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn shared_question_counts_for_each_pair() {
        let question: Arc<str> = "why?".into();
        let pair = |text: &str| Input::Pair(Arc::clone(&question), text.to_owned());
        let other = Input::Pair("so".into(), "d".to_owned());
        let inputs = [pair("a"), pair("b\u{e9}"), other, Input::Text("c".to_owned()), Input::Ids(vec![7])];
        assert_eq!(characters_of_inputs(&inputs), 5 + 6 + 3 + 1);
    }

    fn zero(vectors: Vec<f32>) -> Option<String> {
        let embedded = Embedded { vectors, dims: 2, ..Embedded::default() };
        zero_vectors(&embedded).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn zero_vectors_are_counted_and_named() {
        assert_eq!(zero(vec![0.0, 1.0, -1.0, 0.0]), None);
        assert_eq!(zero(vec![]), None);
        assert_eq!(zero(vec![0.0, -0.0, 1.0, 0.0, 0.0, 0.0]).unwrap(), "2; inputs=\"0 2\"");
        let many = zero(vec![0.0; 2 * 2048]).unwrap();
        assert!(many.starts_with("2048; inputs=\"0 1 2 ") && many.ends_with(" 63\""), "{many}");
    }
}
