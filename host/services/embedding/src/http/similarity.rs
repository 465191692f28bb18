//! `/similarity`: how alike sentences are to another, in the form of text-embeddings-inference.

use axum::{extract::Path, response::Response};
use bulkhead_http::json::ObjectOf;
use bulkhead_inference::{engine::Input, model::TruncationSide};
use bulkhead_models::EmbedParameters;
use serde::{Deserialize, Deserializer};

use super::{
    error::EmbeddingApiError,
    floats,
    model_run::ModelRun,
    request::{InputList, JsonObject, TruncationDirection, naming_half_pair_of},
};

/// The sentences of a request.
#[derive(Debug, Deserialize)]
struct SimilarityInputs {
    #[serde(deserialize_with = "source_sentence")]
    source_sentence: String,
    sentences: InputList<String>,
}

fn source_sentence<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map_err(|error| naming_half_pair_of("source_sentence", error))
}

/// How they are embedded.
#[derive(Debug, Default, Deserialize)]
struct SimilarityParameters {
    #[serde(default)]
    truncate: Option<bool>,
    #[serde(default)]
    truncation_direction: Option<TruncationDirection>,
    #[serde(default)]
    prompt_name: Option<String>,
}

/// Body of `/similarity`. Unknown members are ignored.
#[derive(Debug, Deserialize)]
pub struct SimilarityBody {
    inputs: ObjectOf<SimilarityInputs>,
    #[serde(default)]
    parameters: Option<ObjectOf<SimilarityParameters>>,
}

/// Answers `POST /similarity` and `POST /tei/{model_id}/similarity`.
pub async fn similarity(
    run: ModelRun,
    path: Option<Path<String>>,
    JsonObject(body): JsonObject<SimilarityBody>,
) -> Result<Response, EmbeddingApiError> {
    let ObjectOf(SimilarityInputs { source_sentence, sentences: InputList(sentences) }) = body.inputs;
    if sentences.is_empty() {
        return Err(EmbeddingApiError::invalid("the list of sentences is empty"));
    }
    let model = run.embedder(path.as_ref().map(|Path(segment)| segment.as_str()))?;
    let asked = body.parameters.map(|ObjectOf(asked)| asked).unwrap_or_default();
    let parameters = EmbedParameters {
        prompt_name: asked.prompt_name,
        truncate: asked.truncate,
        side: match asked.truncation_direction.unwrap_or_default() {
            TruncationDirection::Left => TruncationSide::Left,
            TruncationDirection::Right => TruncationSide::Right,
        },
        normalize: Some(true),
        uncounted: 1,
        ..EmbedParameters::default()
    };
    // The source comes last, so that the indices of errors and headers are those of the sentences.
    let count = sentences.len();
    let inputs = sentences.into_iter().chain([source_sentence]).map(Input::Text).collect();
    let embedded = run.run(model, inputs, parameters).await;
    let (work, embedded) = embedded.map_err(|error| error.naming_input(count, "source_sentence"))?;
    let mut text = floats::buffer(embedded.vectors.len() / embedded.dims.max(1));
    floats::write_json(&cosines(&embedded.vectors, embedded.dims), &mut text);
    Ok(work.answer(model, &embedded, text))
}

/// Returns the cosines of the last of vectors of length 1 with the others, which rounding takes nowhere beyond 1. A vector
/// of zeros is like no other.
fn cosines(vectors: &[f32], dims: usize) -> Vec<f32> {
    let mut rows = vectors.chunks_exact(dims.max(1));
    let source = rows.next_back().unwrap_or_default();
    let cosine = |row: &[f32]| row.iter().zip(source).map(|(one, other)| one * other).sum::<f32>();
    rows.map(|row| cosine(row).clamp(-1.0, 1.0)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn cosines_are_with_the_last() {
        assert_eq!(cosines(&[1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 1.0, 0.0], 2), [1.0, 0.0, -1.0]);
        assert!(cosines(&[1.0, 0.0], 2).is_empty());
    }

    #[test]
    fn rounded_lengths_stay_within_one() {
        let (longer, shorter) = (1.000_000_5, -1.000_000_5);
        assert_eq!(cosines(&[longer, 0.0, shorter, 0.0, longer, 0.0], 2), [1.0, -1.0]);
    }

    #[test]
    fn arrays_are_no_objects() {
        for (body, wanted) in [
            (r#"{"inputs":["a",["b"]]}"#, "inputs: invalid type: sequence, expected an object"),
            (r#"{"inputs":"a"}"#, "inputs: invalid type: string \"a\", expected an object"),
            (
                r#"{"inputs":{"source_sentence":"a","sentences":["b"]},"parameters":[true]}"#,
                "parameters: invalid type: sequence, expected an object",
            ),
            (
                r#"{"inputs":{"source_sentence":"a","sentences":"b"}}"#,
                "inputs: sentences: invalid type: string \"b\", expected an array",
            ),
        ] {
            let error =
                bulkhead_http::json::object::<SimilarityBody>(body.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_named() {
        for (inputs, name) in [
            (r#"{"source_sentence":"\ud800","sentences":["a"]}"#, "source_sentence"),
            (r#"{"source_sentence":"a","sentences":["a","\ud800"]}"#, "input 1"),
        ] {
            let error = serde_json::from_str::<SimilarityInputs>(inputs).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} has half of a surrogate pair")), "{error}");
        }
    }
}
