//! `/rerank`: texts by their relevance for a question, in the forms of text-embeddings-inference, and of Cohere and Jina.

mod body;

use std::sync::Arc;

use axum::{extract::Path, response::Response};
use bulkhead_inference::{
    engine::{Embedded, Input},
    model::{ModelOutput, TruncationSide},
};
use bulkhead_models::{EmbedParameters, InferenceError, RankedText, ServedModel};
use serde::Serialize;
use serde_json::{Value, json};

use self::body::{Question, RerankBody, RerankForm};
use super::{
    error::EmbeddingApiError,
    model_run::ModelRun,
    request::{JsonObject, TruncationDirection},
};

/// What an operator can do where no model ranks.
const WANTED: &str = "ranks texts for a question; name a cross-encoder with one label";

/// A text in the form of text-embeddings-inference.
#[derive(Serialize)]
struct TeiRank<'t> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'t str>,
    score: f32,
}

/// A text in the form of Cohere and Jina.
#[derive(Serialize)]
struct DocumentRank<'t> {
    index: usize,
    relevance_score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<DocumentText<'t>>,
}

/// The text of a document.
#[derive(Serialize)]
struct DocumentText<'t> {
    text: &'t str,
}

/// The response in the form of Cohere and Jina.
#[derive(Serialize)]
struct DocumentRanks<'t> {
    model: &'t str,
    results: Vec<DocumentRank<'t>>,
    usage: Value,
    meta: Value,
}

/// Answers `POST /rerank`, `/v1/rerank`, `/v2/rerank` and the same of `/tei/{model_id}`.
pub async fn rerank(
    run: ModelRun,
    path: Option<Path<String>>,
    JsonObject(body): JsonObject<RerankBody>,
) -> Result<Response, EmbeddingApiError> {
    let segment = path.as_ref().map(|Path(segment)| segment.as_str());
    let question = body.question().map_err(EmbeddingApiError::invalid)?;
    let model = match (segment, &question.form) {
        (None, RerankForm::Documents { model: Some(id), .. }) => {
            run.named(id, ServedModel::is_reranker, WANTED)?
        }
        _ => run.model(segment, ServedModel::is_reranker, WANTED)?,
    };
    model.check_ranks()?;
    let returned = question.returns_texts.then(|| question.texts.clone());
    let (form, raw, inputs, parameters) = asked(question);
    let (work, embedded) = run.run(model, inputs, parameters).await?;
    let ranking = model.ranking(&embedded, raw)?;
    let text = |index: usize| returned.as_ref()?.get(index).map(String::as_str);
    let json = match form {
        RerankForm::Tei => serde_json::to_vec(&tei(ranking, text)),
        RerankForm::Documents { top_n, .. } => {
            serde_json::to_vec(&documents(model, &embedded, ranking, top_n, text))
        }
    };
    Ok(work.answer_scores(model, &embedded, json.map_err(|_| InferenceError::Internal)?))
}

/// Returns what the model is asked.
fn asked(question: Question) -> (RerankForm, bool, Vec<Input>, EmbedParameters) {
    let query: Arc<str> = question.query.into();
    let pair = |text| Input::Pair(Arc::clone(&query), text);
    let parameters = EmbedParameters {
        truncate: question.truncate,
        side: match question.truncation_direction {
            TruncationDirection::Left => TruncationSide::Left,
            TruncationDirection::Right => TruncationSide::Right,
        },
        output: ModelOutput::Scores,
        ..EmbedParameters::default()
    };
    (question.form, question.raw_scores, question.texts.into_iter().map(pair).collect(), parameters)
}

fn tei<'t>(ranking: Vec<RankedText>, text: impl Fn(usize) -> Option<&'t str>) -> Vec<TeiRank<'t>> {
    let rank = |RankedText { index, score }| TeiRank { index, text: text(index), score };
    ranking.into_iter().map(rank).collect()
}

fn documents<'t>(
    model: &'t ServedModel,
    embedded: &Embedded,
    ranking: Vec<RankedText>,
    top_n: usize,
    text: impl Fn(usize) -> Option<&'t str>,
) -> DocumentRanks<'t> {
    let rank = |RankedText { index, score }| DocumentRank {
        index,
        relevance_score: score,
        document: text(index).map(|text| DocumentText { text }),
    };
    let tokens = embedded.tokens;
    DocumentRanks {
        model: &model.id,
        results: ranking.into_iter().take(top_n).map(rank).collect(),
        usage: json!({ "prompt_tokens": tokens, "total_tokens": tokens }),
        meta: json!({
            "api_version": { "version": "2" },
            "billed_units": { "search_units": 1 },
            "tokens": { "input_tokens": tokens },
        }),
    }
}
