//! `/embed_all` and `/embed_sparse`: what the tokens of texts give, in the forms of text-embeddings-inference.

use axum::{
    body::Body,
    extract::Path,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bulkhead_inference::{
    decimals::NUMBER_BYTES,
    engine::Input,
    late_interaction::TokenVectors,
    model::{ModelOutput, ModelTask, Term, TruncationSide},
};
use bulkhead_models::{EmbedParameters, InferenceError, ServedModel};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    error::EmbeddingApiError,
    floats,
    model_run::ModelRun,
    observe::{EmbeddingWork, ModelLabel},
    request::{EmbedBody, JsonObject, TruncationDirection},
    token_memory::json_list,
};

/// Bytes of a number of a token's vector: as it is made, and as JSON.
const VECTOR_NUMBER_BYTES: usize = size_of::<f32>() + NUMBER_BYTES;
/// Bytes of a text in an answer besides its tokens' vectors.
const TEXT_BYTES: usize = 2048;
/// Bytes of a term: as it is made, and as JSON in a buffer that has grown to the double.
const TERM_BYTES: usize = size_of::<Term>() + 88;
/// What an operator can do where no model weighs terms.
const WANTED: &str = "weighs terms; name one with the module SpladePooling";

/// A term in the response of `/embed_sparse`.
#[derive(Serialize)]
struct TermRecord {
    index: u32,
    value: f32,
}

/// Answers `POST /embed_all` and `POST /tei/{model_id}/embed_all`.
pub async fn embed_all(
    run: ModelRun,
    path: Option<Path<String>>,
    JsonObject(body): JsonObject<EmbedBody>,
) -> Result<Response, EmbeddingApiError> {
    let model = run.embedder(path.as_ref().map(|Path(segment)| segment.as_str()))?;
    let (texts, mut parameters) = parts(body, ModelOutput::AllTokens);
    let tokens = run.count_tokens(model, texts.clone(), &mut parameters).await?;
    let (width, count) = (model.model.width(), texts.len());
    let numbers = tokens.saturating_mul(width);
    let bytes = numbers.saturating_mul(VECTOR_NUMBER_BYTES).saturating_add(count.saturating_mul(TEXT_BYTES));
    let memory = &run.state().token_memory;
    if bytes > memory.bytes() {
        let fitting = |number: usize| number.saturating_mul(memory.bytes()) / bytes;
        return Err(EmbeddingApiError::too_large(format!(
            "the answer would have {tokens} vectors of {width} numbers, more than embedding.token_output_bytes lets it \
             have; send at most {} such texts with {} tokens",
            fitting(count),
            fitting(tokens)
        )));
    }
    let reserved = memory.reserve(bytes)?;
    answer(&run, model, (texts, parameters), reserved, vectors_json).await
}

/// Answers `POST /embed_sparse` and `POST /tei/{model_id}/embed_sparse`.
pub async fn embed_sparse(
    run: ModelRun,
    path: Option<Path<String>>,
    JsonObject(body): JsonObject<EmbedBody>,
) -> Result<Response, EmbeddingApiError> {
    let weighs = |model: &ServedModel| model.model.task() == ModelTask::Terms;
    let model = run.model(path.as_ref().map(|Path(segment)| segment.as_str()), weighs, WANTED)?;
    let (texts, mut parameters) = parts(body, ModelOutput::Terms);
    run.state().service.inference.check_texts(&texts)?;
    // How many terms a text has is known only afterwards, so that the engine counts them.
    let (memory, per_text) = (&run.state().token_memory, run.state().terms_per_text);
    let most = texts.len().saturating_mul(per_text).min(memory.bytes() / TERM_BYTES);
    parameters.most_terms = Some(most);
    let reserved = memory.reserve(most * TERM_BYTES)?;
    answer(&run, model, (texts, parameters), reserved, terms_json).await
}

/// Returns the texts of a body and how a model runs on them.
fn parts(body: EmbedBody, output: ModelOutput) -> (Vec<String>, EmbedParameters) {
    let parameters = EmbedParameters {
        prompt_name: body.prompt_name,
        truncate: body.truncate,
        side: match body.truncation_direction.unwrap_or_default() {
            TruncationDirection::Left => TruncationSide::Left,
            TruncationDirection::Right => TruncationSide::Right,
        },
        output,
        ..EmbedParameters::default()
    };
    (body.inputs.0, parameters)
}

/// Runs the model and streams a row of JSON for each text out of the reserved memory.
async fn answer(
    run: &ModelRun,
    model: &ServedModel,
    (texts, parameters): (Vec<String>, EmbedParameters),
    reserved: OwnedSemaphorePermit,
    write: fn(&TokenVectors) -> Vec<u8>,
) -> Result<Response, EmbeddingApiError> {
    let inputs = texts.into_iter().map(Input::Text).collect();
    let (work, mut embedded) = run.run(model, inputs, parameters).await?;
    let token_vectors = std::mem::take(&mut embedded.token_vectors);
    // Writing millions of numbers would block an async worker.
    let rows = tokio::task::spawn_blocking(move || token_vectors.iter().map(write).collect::<Vec<_>>());
    let rows = rows.await.map_err(|_| InferenceError::Internal)?;
    let mut headers = work.finish(&embedded);
    let length = rows.iter().map(|row| row.len() + 1).sum::<usize>() + 1;
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    let body = Body::from_stream(stream::iter(json_list(rows, reserved)));
    Ok((ModelLabel::of(model), EmbeddingWork::of(&embedded), headers, body).into_response())
}

/// Returns the JSON of the vectors of a text's tokens.
fn vectors_json(text: &TokenVectors) -> Vec<u8> {
    let mut json = floats::buffer(text.vectors.len());
    json.push(b'[');
    for (index, vector) in text.vectors.chunks_exact(text.dims.max(1)).enumerate() {
        if index > 0 {
            json.push(b',');
        }
        floats::write_json(vector, &mut json);
    }
    json.push(b']');
    json
}

/// Returns the JSON of a text's terms.
fn terms_json(text: &TokenVectors) -> Vec<u8> {
    let records = text.terms.iter().map(|term| TermRecord { index: term.id, value: term.weight });
    // Numbers and names are always JSON.
    serde_json::to_vec(&records.collect::<Vec<_>>()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_json() {
        let vectors = TokenVectors { vectors: vec![0.5, -1.0, 2.0, 0.0], dims: 2, ..TokenVectors::default() };
        let read: Option<Vec<Vec<f32>>> = serde_json::from_slice(&vectors_json(&vectors)).ok();
        assert_eq!(read, Some(vec![vec![0.5, -1.0], vec![2.0, 0.0]]));
        assert_eq!(vectors_json(&TokenVectors::default()), b"[]");
        let terms = vec![Term { id: 7, weight: 0.1 }];
        let terms = TokenVectors { terms, ..TokenVectors::default() };
        assert_eq!(terms_json(&terms), br#"[{"index":7,"value":0.1}]"#);
    }
}
