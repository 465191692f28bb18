//! text-embeddings-inference's endpoints, for the default model at the root and for each under `/tei/{model_id}`.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use bulkhead_inference::{
    engine::Embedded,
    model::{BATCH_TOKENS, TruncationSide},
    tokenizer::Token,
};
use bulkhead_models::{Choice, Refusal, ServedModel};
use futures_util::stream;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    EmbeddingState,
    error::ApiError,
    floats,
    observe::ModelLabel,
    request::{Direction, EmbedBody, JsonObject, TokenizeBody, refuse_model_parameter},
};

/// Most bytes of all answers of `/tokenize` that clients have not read yet.
pub const TOKENIZED_BYTES: usize = 64 << 20;

/// How many texts were cut to the model's limit; absent when none was.
pub const X_TRUNCATED_INPUTS: HeaderName = HeaderName::from_static("x-truncated-inputs");

/// `POST /embed`, `POST /`.
pub async fn embed(
    State(state): State<Arc<EmbeddingState>>,
    RawQuery(query): RawQuery,
    JsonObject(body): JsonObject<EmbedBody>,
) -> Result<Response, ApiError> {
    refuse_model_parameter(query.as_deref())?;
    answer(&state, state.default_model()?, body).await
}

/// `POST /tei/{model_id}/embed`, `POST /tei/{model_id}`.
pub async fn embed_with(
    State(state): State<Arc<EmbeddingState>>,
    Path(model_id): Path<String>,
    RawQuery(query): RawQuery,
    JsonObject(body): JsonObject<EmbedBody>,
) -> Result<Response, ApiError> {
    refuse_model_parameter(query.as_deref())?;
    answer(&state, state.model_at(&model_id)?, body).await
}

async fn answer(state: &EmbeddingState, model: &ServedModel, body: EmbedBody) -> Result<Response, ApiError> {
    let side = match body.truncation_direction.unwrap_or_default() {
        Direction::Left => TruncationSide::Left,
        Direction::Right => TruncationSide::Right,
    };
    let choice = Choice {
        prompt_name: body.prompt_name,
        truncate: body.truncate,
        side,
        normalize: body.normalize,
        dimensions: body.dimensions,
        token_vectors: false,
    };
    let embedded = state.service.embed(model, body.inputs.0, &choice).await?;
    let mut text = floats::room(embedded.vectors.len());
    text.push(b'[');
    for (index, vector) in embedded.vectors.chunks_exact(embedded.dims).enumerate() {
        if index > 0 {
            text.push(b',');
        }
        floats::write_json(vector, &mut text);
    }
    text.push(b']');
    Ok(with_headers(model, &embedded, text))
}

/// A JSON text with the headers that every answer with vectors has.
pub fn with_headers(model: &ServedModel, embedded: &Embedded, text: Vec<u8>) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if embedded.truncated > 0 {
        headers.insert(X_TRUNCATED_INPUTS, HeaderValue::from(embedded.truncated));
    }
    (ModelLabel::of(model), headers, text).into_response()
}

/// `GET /info`.
pub async fn info(
    State(state): State<Arc<EmbeddingState>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    refuse_model_parameter(query.as_deref())?;
    let model = state.default_model()?;
    Ok(Json(record(&state, model)).into_response())
}

/// `GET /tei/{model_id}/info`.
pub async fn info_of(
    State(state): State<Arc<EmbeddingState>>,
    Path(model_id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    refuse_model_parameter(query.as_deref())?;
    let model = state.model_at(&model_id)?;
    Ok((ModelLabel::of(model), Json(record(&state, model))).into_response())
}

/// The members of model2vec-serve and of text-embeddings-inference together.
fn record(state: &EmbeddingState, model: &ServedModel) -> Value {
    let about = model.model.description();
    json!({
        "model_id": model.id,
        "max_input_length": about.max_input_length,
        "embedding_dimension": about.dims,
        "pooling": about.pooling,
        "model_sha": about.weights_sha256,
        "model_dtype": about.dtype,
        "model_type": { "embedding": { "pooling": about.pooling } },
        "served_model_name": model.path_name,
        "prompts": about.prompts,
        "max_concurrent_requests": state.service.inference.queue_texts(),
        "max_batch_tokens": BATCH_TOKENS,
        "max_batch_requests": null,
        "max_client_batch_size": state.service.inference.max_batch_size(),
        "auto_truncate": true,
        "tokenization_workers": state.service.inference.threads(),
        "version": env!("CARGO_PKG_VERSION"),
        "sha": null,
        "docker_label": null,
    })
}

/// `POST /tokenize`.
pub async fn tokenize(
    State(state): State<Arc<EmbeddingState>>,
    JsonObject(body): JsonObject<TokenizeBody>,
) -> Result<Response, ApiError> {
    tokens(&state, state.default_model()?, body).await
}

/// `POST /tei/{model_id}/tokenize`.
pub async fn tokenize_with(
    State(state): State<Arc<EmbeddingState>>,
    Path(model_id): Path<String>,
    JsonObject(body): JsonObject<TokenizeBody>,
) -> Result<Response, ApiError> {
    tokens(&state, state.model_at(&model_id)?, body).await
}

async fn tokens(
    state: &EmbeddingState,
    model: &ServedModel,
    body: TokenizeBody,
) -> Result<Response, ApiError> {
    let special = body.add_special_tokens.unwrap_or(true);
    // Hundreds of thousands of tokens are no work for an async worker: they are written where they are made.
    let write = |text: &str, tokens: &[Token]| serde_json::to_vec(&shown(text, tokens));
    let prompt = body.prompt_name.as_deref();
    let rows = state.service.tokenize(model, body.inputs.0, special, prompt, write).await?;
    let rows: Vec<Vec<u8>> = rows.into_iter().collect::<Result<_, _>>().map_err(|_| Refusal::Internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CONTENT_LENGTH, HeaderValue::from(rows.iter().map(|row| row.len() + 1).sum::<usize>() + 1)),
    ];
    let body = Body::from_stream(stream::iter(list(rows, &state.tokenized)?));
    Ok((ModelLabel::of(model), headers, body).into_response())
}

/// A text's tokens as JSON, which are being sent: the permit goes back once the client has all of the request's, or has
/// left.
struct Row {
    json: Vec<u8>,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Row {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}

/// The parts of a JSON list: each text's tokens as they are, with a byte before, and the end. They hold as many of the
/// permits `free` as they have bytes; more than all there are can be had when nobody else holds any.
fn list(
    rows: Vec<Vec<u8>>,
    free: &Arc<Semaphore>,
) -> Result<impl Iterator<Item = Result<Bytes, Infallible>> + use<>, ApiError> {
    let bytes = rows.iter().map(Vec::capacity).sum::<usize>().min(TOKENIZED_BYTES);
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let permit = Arc::clone(free).try_acquire_many_owned(bytes).map_err(|_| ApiError::unread())?;
    let permit = Arc::new(permit);
    let parts = rows.into_iter().enumerate().flat_map(move |(index, json)| {
        let before: &[u8] = if index == 0 { b"[" } else { b"," };
        [Bytes::from_static(before), Bytes::from_owner(Row { json, _permit: Arc::clone(&permit) })]
    });
    Ok(parts.chain([Bytes::from_static(b"]")]).map(Ok))
}

/// A token as clients see it; `start` and `stop` count characters of the text.
#[derive(Serialize)]
struct Shown<'t> {
    id: u32,
    text: &'t str,
    special: bool,
    start: Option<usize>,
    stop: Option<usize>,
}

fn shown<'t>(text: &str, tokens: &'t [Token]) -> Vec<Shown<'t>> {
    let mut place = Place { text, bytes: 0, characters: 0 };
    let token = |token: &'t Token| {
        let (start, stop) = token.span.unzip();
        let start = start.and_then(|bytes| place.at(bytes));
        let stop = stop.and_then(|bytes| place.at(bytes));
        Shown { id: token.id, text: &token.text, special: token.special, start, stop }
    };
    tokens.iter().map(token).collect()
}

/// A place in a text that moves along with its tokens, so that all of them together cost one way through the text.
struct Place<'t> {
    text: &'t str,
    bytes: usize,
    characters: usize,
}

impl Place<'_> {
    /// The number of characters before a byte; none inside a character.
    fn at(&mut self, bytes: usize) -> Option<usize> {
        let count = |part: &str| part.chars().count();
        match bytes >= self.bytes {
            true => self.characters += self.text.get(self.bytes..bytes).map(count)?,
            false => self.characters -= self.text.get(bytes..self.bytes).map(count)?,
        }
        self.bytes = bytes;
        Some(self.characters)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn body(rows: Vec<Vec<u8>>, free: &Arc<Semaphore>) -> Result<Body, ApiError> {
        list(rows, free).map(|parts| Body::from_stream(stream::iter(parts)))
    }

    #[tokio::test]
    async fn unread_answers_hold_their_bytes() {
        let free = Arc::new(Semaphore::new(TOKENIZED_BYTES));
        let half = || vec![vec![b'1'; TOKENIZED_BYTES / 4]; 2];
        let (first, second) = (body(half(), &free).unwrap(), body(half(), &free).unwrap());
        assert_eq!(body(vec![b"1".to_vec()], &free).unwrap_err(), ApiError::unread());
        drop(first);
        assert_eq!(free.available_permits(), TOKENIZED_BYTES / 2);
        let read = axum::body::to_bytes(second, usize::MAX).await.unwrap();
        assert_eq!(read.len(), TOKENIZED_BYTES / 2 + 3);
        assert_eq!(free.available_permits(), TOKENIZED_BYTES);
        let small = body(vec![b"[1]".to_vec(), b"[]".to_vec()], &free).unwrap();
        let large = || vec![vec![b'1'; TOKENIZED_BYTES + 1]];
        assert!(body(large(), &free).is_err());
        assert_eq!(axum::body::to_bytes(small, usize::MAX).await.unwrap(), "[[1],[]]");
        assert!(body(large(), &free).is_ok(), "what is alone is let in");
    }
}
