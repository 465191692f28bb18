//! `/embed_all` and `/embed_sparse`: what the tokens of texts give, in the forms of text-embeddings-inference.

use axum::{
    body::Body,
    extract::Path,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bulkhead_inference::{
    engine::Input,
    late_interaction::TokenVectors,
    model::{ModelOutput, ModelTask, TruncationSide},
};
use bulkhead_models::{EmbedParameters, InferenceError, ServedModel};
use futures_util::stream;
use serde::Serialize;

use super::{
    error::EmbeddingApiError,
    floats,
    model_run::ModelRun,
    observe::{EmbeddingWork, ModelLabel},
    request::{EmbedBody, JsonObject, TruncationDirection},
    tei::token_list,
};

/// The maximum bytes of the texts of a `/embed_all` request: each may be a token, whose vector takes thousands of bytes.
const EMBED_ALL_BYTES: usize = 16 << 10;
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
    let bytes: usize = body.inputs.0.iter().map(String::len).sum();
    if bytes > EMBED_ALL_BYTES {
        return Err(EmbeddingApiError::invalid(format_args!(
            "the inputs have {bytes} bytes, at most {EMBED_ALL_BYTES} are embedded token by token at once"
        )));
    }
    let model = run.embedder(path.as_ref().map(|Path(segment)| segment.as_str()))?;
    answer(&run, model, body, ModelOutput::AllTokens, vectors_json).await
}

/// Answers `POST /embed_sparse` and `POST /tei/{model_id}/embed_sparse`.
pub async fn embed_sparse(
    run: ModelRun,
    path: Option<Path<String>>,
    JsonObject(body): JsonObject<EmbedBody>,
) -> Result<Response, EmbeddingApiError> {
    let weighs = |model: &ServedModel| model.model.task() == ModelTask::Terms;
    let model = run.model(path.as_ref().map(|Path(segment)| segment.as_str()), weighs, WANTED)?;
    answer(&run, model, body, ModelOutput::Terms, terms_json).await
}

/// Runs the model and streams a row of JSON for each text, as many bytes at once as clients may leave unread.
async fn answer(
    run: &ModelRun,
    model: &ServedModel,
    body: EmbedBody,
    output: ModelOutput,
    write: fn(&TokenVectors) -> Vec<u8>,
) -> Result<Response, EmbeddingApiError> {
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
    let inputs = body.inputs.0.into_iter().map(Input::Text).collect();
    let (work, mut embedded) = run.run(model, inputs, parameters).await?;
    let token_vectors = std::mem::take(&mut embedded.token_vectors);
    // Writing millions of numbers would block an async worker.
    let rows = tokio::task::spawn_blocking(move || token_vectors.iter().map(write).collect::<Vec<_>>());
    let rows = rows.await.map_err(|_| InferenceError::Internal)?;
    let mut headers = work.finish(&embedded);
    let length = rows.iter().map(|row| row.len() + 1).sum::<usize>() + 1;
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    let body = Body::from_stream(stream::iter(token_list(rows, &run.state().tokenized)?));
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
    use bulkhead_inference::model::Term;

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
