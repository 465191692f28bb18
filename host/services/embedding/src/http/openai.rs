//! The endpoints of OpenAI: `/v1/embeddings` and `/v1/models`.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, State},
    response::Response,
};
use bulkhead_inference::engine::Embedded;
use bulkhead_models::{EmbedParameters, ServedModel};
use bulkhead_telemetry::quoted;
use serde_json::{Value, json};

use super::{
    EmbeddingState,
    error::EmbeddingApiError,
    floats,
    request::{EmbedInputs, JsonObject, OpenAiBody, OpenAiInputs, TOKEN_ARRAY},
    work::{self, Work},
};
use crate::callers::RequestCaller;

/// `created` of every model, as in the replaced server: model files do not hold the time.
const CREATED: u64 = 1_686_935_002;

/// The text form of vectors.
#[derive(Clone, Copy)]
enum VectorEncoding {
    Float,
    Base64,
}

impl VectorEncoding {
    fn of(name: Option<&str>) -> Result<Self, EmbeddingApiError> {
        match name {
            None | Some("float") => Ok(Self::Float),
            Some("base64") => Ok(Self::Base64),
            Some(other) => {
                let other = quoted(other);
                Err(EmbeddingApiError::invalid(format_args!(
                    "encoding_format must be float or base64, not `{other}`"
                )))
            }
        }
    }
}

/// Answers `POST /v1/embeddings` and `POST /embeddings`.
pub async fn embeddings(
    State(state): State<Arc<EmbeddingState>>,
    Extension(caller): Extension<RequestCaller>,
    JsonObject(body): JsonObject<OpenAiBody>,
) -> Result<Response, EmbeddingApiError> {
    let encoding = check_body(&state, &body)?;
    let model = match &body.model {
        None => state.default_model()?,
        Some(id) => state.model_named(id)?,
    };
    answer(&state, &caller, model, body, encoding).await
}

/// Answers `POST /tei/{model_id}/v1/embeddings` and `/tei/{model_id}/embeddings`. The path names the model; `model` is ignored.
pub async fn embeddings_with(
    State(state): State<Arc<EmbeddingState>>,
    Path(model_id): Path<String>,
    Extension(caller): Extension<RequestCaller>,
    JsonObject(body): JsonObject<OpenAiBody>,
) -> Result<Response, EmbeddingApiError> {
    let encoding = check_body(&state, &body)?;
    answer(&state, &caller, state.model_at(&model_id)?, body, encoding).await
}

/// Checks the inputs before the encoding, so that their errors are reported first.
fn check_body(state: &EmbeddingState, body: &OpenAiBody) -> Result<VectorEncoding, EmbeddingApiError> {
    match &body.input {
        OpenAiInputs::Texts(EmbedInputs(texts)) => state.service.inference.check_texts(texts)?,
        OpenAiInputs::Ids(_) if !state.token_ids => {
            return Err(EmbeddingApiError::invalid(format_args!(
                "input: {TOKEN_ARRAY}; embedding.token_ids = true takes the ids of the model's own vocabulary"
            )));
        }
        OpenAiInputs::Ids(_) if body.prompt_name.as_deref().is_some_and(|name| !name.is_empty()) => {
            let reason = "prompt_name goes with texts; put the prompt's ids before token ids";
            return Err(EmbeddingApiError::invalid(reason));
        }
        OpenAiInputs::Ids(ids) => state.service.inference.check_count(ids.len())?,
    }
    VectorEncoding::of(body.encoding_format.as_deref())
}

/// Embeds the texts and answers their vectors.
async fn answer(
    state: &EmbeddingState,
    caller: &RequestCaller,
    model: &ServedModel,
    body: OpenAiBody,
    encoding: VectorEncoding,
) -> Result<Response, EmbeddingApiError> {
    let parameters = EmbedParameters {
        prompt_name: body.prompt_name,
        dimensions: body.dimensions,
        truncate: Some(state.auto_truncate),
        normalize: state.normalized(model, None),
        ..EmbedParameters::default()
    };
    let work = Work::begin(state, model, body.input.count(), work::characters(body.input.texts()));
    let embedded = state.service.embed_inputs(caller, model, body.input, &parameters).await?;
    let id = Value::from(model.id.as_str());
    let write = move |embedded: &Embedded| {
        let mut text = floats::buffer(embedded.vectors.len());
        text.extend_from_slice(br#"{"object":"list","data":["#);
        for (index, vector) in embedded.vectors.chunks_exact(embedded.dims).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let head = format!(r#"{comma}{{"object":"embedding","index":{index},"embedding":"#);
            text.extend_from_slice(head.as_bytes());
            match encoding {
                VectorEncoding::Float => floats::write_json(vector, &mut text),
                VectorEncoding::Base64 => floats::write_base64(vector, &mut text),
            }
            text.push(b'}');
        }
        let tokens = embedded.tokens;
        let tail =
            format!(r#"],"model":{id},"usage":{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}}}"#);
        text.extend_from_slice(tail.as_bytes());
        text
    };
    let (embedded, text) = floats::written(embedded, write).await?;
    Ok(work.answer(model, &embedded, text))
}

/// Answers `GET /v1/models`: the default first, then in configured order.
pub async fn models(State(state): State<Arc<EmbeddingState>>) -> Json<Value> {
    let data: Vec<Value> = state.service.inference.models().map(|model| record(&state, model)).collect();
    Json(json!({ "object": "list", "data": data }))
}

/// Answers `GET /v1/models/{id}`, the id with or without its slash encoded.
pub async fn model(
    State(state): State<Arc<EmbeddingState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, EmbeddingApiError> {
    let model = state.service.inference.by_id(&id);
    let model = model.ok_or_else(|| EmbeddingApiError::no_such_model(&id, state.repack_of(&id)))?;
    Ok(Json(record(&state, model)))
}

/// Returns a model in the form of OpenAI.
fn record(state: &EmbeddingState, model: &ServedModel) -> Value {
    let from = &model.model.description().source;
    json!({
        "id": model.id,
        "object": "model",
        "created": CREATED,
        "owned_by": state.model_owner,
        "aliases": model.aliases().collect::<Vec<_>>(),
        "quantization": from.quantization,
        "source": from.source,
        "revision": from.revision,
    })
}
