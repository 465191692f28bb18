//! The endpoints of text-embeddings-inference: for the default model at the root, for each model under `/tei/{model_id}`.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, RawQuery, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bulkhead_inference::{
    engine::Embedded,
    model::{BATCH_TOKENS, TruncationSide},
    tokenizer::Token,
};
use bulkhead_models::{EmbedParameters, InferenceError, ServedModel};
use futures_util::stream;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    EmbeddingState,
    error::EmbeddingApiError,
    floats,
    model_type::model_type,
    observe::ModelLabel,
    request::{EmbedBody, JsonObject, TokenizeBody, TruncationDirection, reject_model_parameter},
    token_memory,
    work::{self, Work},
};
use crate::callers::RequestCaller;

/// Answers `POST /embed` and `POST /`.
pub async fn embed(
    State(state): State<Arc<EmbeddingState>>,
    RawQuery(query): RawQuery,
    Extension(caller): Extension<RequestCaller>,
    JsonObject(body): JsonObject<EmbedBody>,
) -> Result<Response, EmbeddingApiError> {
    reject_model_parameter(query.as_deref())?;
    answer(&state, &caller, state.default_model()?, body).await
}

/// Answers `POST /tei/{model_id}/embed` and `POST /tei/{model_id}`.
pub async fn embed_with(
    State(state): State<Arc<EmbeddingState>>,
    Path(model_id): Path<String>,
    RawQuery(query): RawQuery,
    Extension(caller): Extension<RequestCaller>,
    JsonObject(body): JsonObject<EmbedBody>,
) -> Result<Response, EmbeddingApiError> {
    reject_model_parameter(query.as_deref())?;
    answer(&state, &caller, state.model_at(&model_id)?, body).await
}

/// Embeds the texts and answers their vectors.
async fn answer(
    state: &EmbeddingState,
    caller: &RequestCaller,
    model: &ServedModel,
    body: EmbedBody,
) -> Result<Response, EmbeddingApiError> {
    let side = match body.truncation_direction.unwrap_or_default() {
        TruncationDirection::Left => TruncationSide::Left,
        TruncationDirection::Right => TruncationSide::Right,
    };
    let parameters = EmbedParameters {
        prompt_name: body.prompt_name,
        truncate: body.truncate.or(Some(state.auto_truncate)),
        side,
        normalize: state.normalized(model, body.normalize),
        dimensions: body.dimensions,
        ..EmbedParameters::default()
    };
    let texts = &body.inputs.0;
    let work = Work::begin(state, model, texts.len(), work::characters(texts));
    let embedded = state.service.embed(caller, model, body.inputs.0, &parameters).await?;
    let write = |embedded: &Embedded| {
        let mut text = floats::buffer(embedded.vectors.len());
        text.push(b'[');
        for (index, vector) in embedded.vectors.chunks_exact(embedded.dims).enumerate() {
            if index > 0 {
                text.push(b',');
            }
            floats::write_json(vector, &mut text);
        }
        text.push(b']');
        text
    };
    let (embedded, text) = floats::written(embedded, write).await?;
    Ok(work.answer(model, &embedded, text))
}

/// Answers `GET /info`.
pub async fn info(
    State(state): State<Arc<EmbeddingState>>,
    RawQuery(query): RawQuery,
) -> Result<Response, EmbeddingApiError> {
    reject_model_parameter(query.as_deref())?;
    let model = state.default_model()?;
    Ok(Json(record(&state, model)).into_response())
}

/// Answers `GET /tei/{model_id}/info`.
pub async fn info_of(
    State(state): State<Arc<EmbeddingState>>,
    Path(model_id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, EmbeddingApiError> {
    reject_model_parameter(query.as_deref())?;
    let model = state.model_at(&model_id)?;
    Ok((ModelLabel::of(model), Json(record(&state, model))).into_response())
}

/// Returns a model's record, with the members of model2vec-serve and of text-embeddings-inference.
fn record(state: &EmbeddingState, model: &ServedModel) -> Value {
    let about = model.model.description();
    json!({
        "model_id": model.id,
        "max_input_length": about.max_input_length,
        "embedding_dimension": about.dims,
        "pooling": about.pooling,
        "model_sha": about.weights_sha256,
        "quantization": about.source.quantization,
        "source": about.source.source,
        "revision": about.source.revision,
        "model_dtype": about.dtype,
        "model_type": model_type(model),
        "served_model_name": model.path_name(),
        "prompts": about.prompts,
        "max_concurrent_requests": state.service.inference.queue_texts(),
        "max_batch_tokens": BATCH_TOKENS,
        "max_batch_requests": null,
        "max_client_batch_size": state.service.inference.max_batch_size(),
        "auto_truncate": state.auto_truncate,
        "tokenization_workers": state.service.inference.threads(),
        "version": env!("CARGO_PKG_VERSION"),
        "sha": null,
        "docker_label": null,
    })
}

/// Answers `POST /tokenize`.
pub async fn tokenize(
    State(state): State<Arc<EmbeddingState>>,
    Extension(caller): Extension<RequestCaller>,
    JsonObject(body): JsonObject<TokenizeBody>,
) -> Result<Response, EmbeddingApiError> {
    tokens(&state, &caller, state.default_model()?, body).await
}

/// Answers `POST /tei/{model_id}/tokenize`.
pub async fn tokenize_with(
    State(state): State<Arc<EmbeddingState>>,
    Path(model_id): Path<String>,
    Extension(caller): Extension<RequestCaller>,
    JsonObject(body): JsonObject<TokenizeBody>,
) -> Result<Response, EmbeddingApiError> {
    tokens(&state, &caller, state.model_at(&model_id)?, body).await
}

/// Tokenizes the texts and streams their tokens.
async fn tokens(
    state: &EmbeddingState,
    caller: &RequestCaller,
    model: &ServedModel,
    body: TokenizeBody,
) -> Result<Response, EmbeddingApiError> {
    let special = body.add_special_tokens.unwrap_or(true);
    // Serialising hundreds of thousands of tokens would block an async worker, so the inference thread does it.
    let write = |text: &str, tokens: &[Token]| serde_json::to_vec(&token_records(text, tokens));
    let prompt = body.prompt_name.as_deref();
    let rows = state.service.tokenize(caller, model, body.inputs.0, special, prompt, write).await?;
    let rows: Vec<Vec<u8>> =
        rows.into_iter().collect::<Result<_, _>>().map_err(|_| InferenceError::Internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CONTENT_LENGTH, HeaderValue::from(rows.iter().map(|row| row.len() + 1).sum::<usize>() + 1)),
    ];
    let permit = state.token_memory.reserve(rows.iter().map(Vec::capacity).sum())?;
    let body = Body::from_stream(stream::iter(token_memory::json_list(rows, permit)));
    Ok((ModelLabel::of(model), headers, body).into_response())
}

/// A token in the response; `start` and `stop` count characters of the text.
#[derive(Serialize)]
struct TokenRecord<'t> {
    id: u32,
    text: &'t str,
    special: bool,
    start: Option<usize>,
    stop: Option<usize>,
}

/// Converts the tokens of a text.
fn token_records<'t>(text: &str, tokens: &'t [Token]) -> Vec<TokenRecord<'t>> {
    let mut cursor = CharacterCursor { text, bytes: 0, characters: 0 };
    let token = |token: &'t Token| {
        let (start, stop) = token.span.unzip();
        let start = start.and_then(|bytes| cursor.move_to(bytes));
        let stop = stop.and_then(|bytes| cursor.move_to(bytes));
        TokenRecord { id: token.id, text: &token.text, special: token.special, start, stop }
    };
    tokens.iter().map(token).collect()
}

/// A cursor that converts byte positions to character positions. It moves along with the tokens, so that all of them cost
/// one pass over the text.
struct CharacterCursor<'t> {
    text: &'t str,
    bytes: usize,
    characters: usize,
}

impl CharacterCursor<'_> {
    /// Moves to a byte and returns the number of characters before it; `None` inside a character.
    fn move_to(&mut self, bytes: usize) -> Option<usize> {
        let count = |part: &str| part.chars().count();
        match bytes >= self.bytes {
            true => self.characters += self.text.get(self.bytes..bytes).map(count)?,
            false => self.characters -= self.text.get(bytes..self.bytes).map(count)?,
        }
        self.bytes = bytes;
        Some(self.characters)
    }
}
