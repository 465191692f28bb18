//! `/predict`: the labels of texts and pairs of texts, in the form of text-embeddings-inference.

use std::fmt;

use axum::{extract::Path, response::Response};
use bulkhead_inference::{
    engine::Input,
    model::{ModelOutput, ModelTask, TruncationSide},
};
use bulkhead_models::{EmbedParameters, InferenceError, ServedModel};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, SeqAccess, Visitor},
};

use super::{
    error::EmbeddingApiError,
    model_run::ModelRun,
    request::{JsonObject, TruncationDirection, naming_half_pair, read_inputs},
};

/// Most scores of a response.
const MOST_SCORES: usize = 1 << 18;
/// What an operator can do where no model classifies.
const WANTED: &str = "classifies texts; name a model of the kind ForSequenceClassification";

/// The texts of a request.
#[derive(Debug)]
enum PredictInputs {
    Text(String),
    Pair(Vec<String>),
    Batch(Vec<Vec<String>>),
}

/// One member of a list of inputs.
enum PredictInput {
    Text(String),
    Texts(Vec<String>),
}

impl<'de> Deserialize<'de> for PredictInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputVisitor;

        impl<'de> Visitor<'de> for InputVisitor {
            type Value = PredictInput;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of one or two strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PredictInput, E> {
                Ok(PredictInput::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<PredictInput, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = entries.next_element::<String>()? {
                    texts.push(text);
                    if texts.len() > 2 {
                        return Err(de::Error::custom("an input is one text or a pair, not more texts"));
                    }
                }
                Ok(PredictInput::Texts(texts))
            }
        }

        deserializer.deserialize_any(InputVisitor)
    }
}

impl<'de> Deserialize<'de> for PredictInputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputsVisitor;

        impl<'de> Visitor<'de> for InputsVisitor {
            type Value = PredictInputs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a pair of strings, or a list of lists of one or two strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PredictInputs, E> {
                Ok(PredictInputs::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<PredictInputs, A::Error> {
                let (mut texts, mut batch) = (Vec::new(), Vec::new());
                let inputs: Vec<PredictInput> = read_inputs(entries)?;
                for input in inputs {
                    match input {
                        PredictInput::Text(text) => texts.push(text),
                        PredictInput::Texts(texts) => batch.push(texts),
                    }
                }
                match (texts.is_empty(), batch.is_empty()) {
                    (_, true) => Ok(PredictInputs::Pair(texts)),
                    (true, false) => Ok(PredictInputs::Batch(batch)),
                    (false, false) => {
                        Err(de::Error::custom("inputs must be either strings or lists of strings, not both"))
                    }
                }
            }
        }

        deserializer.deserialize_any(InputsVisitor).map_err(|error| naming_half_pair(0, error))
    }
}

/// Body of `/predict`. Unknown members are ignored.
#[derive(Debug, Deserialize)]
pub struct PredictBody {
    inputs: PredictInputs,
    #[serde(default)]
    raw_scores: Option<bool>,
    #[serde(default)]
    truncate: Option<bool>,
    #[serde(default)]
    truncation_direction: Option<TruncationDirection>,
}

/// A label and its score.
#[derive(Debug, Serialize)]
struct Prediction<'l> {
    score: f32,
    label: &'l str,
}

impl PredictInputs {
    /// Returns the inputs of the model, and whether they are a batch.
    fn read(self) -> Result<(Vec<Input>, bool), EmbeddingApiError> {
        match self {
            Self::Text(text) => Ok((vec![Input::Text(text)], false)),
            Self::Pair(texts) => Ok((vec![input(texts)?], false)),
            Self::Batch(batch) => Ok((batch.into_iter().map(input).collect::<Result<_, _>>()?, true)),
        }
    }
}

/// Returns one text or a pair as an input of the model.
fn input(texts: Vec<String>) -> Result<Input, EmbeddingApiError> {
    let count = texts.len();
    let mut texts = texts.into_iter();
    match (texts.next(), texts.next(), texts.next()) {
        (Some(text), None, _) => Ok(Input::Text(text)),
        (Some(first), Some(second), None) => Ok(Input::Pair(first.into(), second)),
        _ => Err(EmbeddingApiError::invalid(format_args!(
            "an input is one text or a pair, not {count} texts; a batch is a list of lists"
        ))),
    }
}

/// Answers `POST /predict` and `POST /tei/{model_id}/predict`.
pub async fn predict(
    run: ModelRun,
    path: Option<Path<String>>,
    JsonObject(body): JsonObject<PredictBody>,
) -> Result<Response, EmbeddingApiError> {
    let segment = path.as_ref().map(|Path(segment)| segment.as_str());
    let classifies = |model: &ServedModel| model.model.task() == ModelTask::Classify;
    let (inputs, is_batch) = body.inputs.read()?;
    let model = run.model(segment, classifies, WANTED)?;
    let labels = model.classifier()?.labels();
    if inputs.len().saturating_mul(labels.len()) > MOST_SCORES {
        let most = (MOST_SCORES / labels.len().max(1)).max(1);
        return Err(EmbeddingApiError::invalid(format_args!(
            "the response would have more than {MOST_SCORES} scores; send at most {most} inputs"
        )));
    }
    let parameters = EmbedParameters {
        truncate: body.truncate,
        side: match body.truncation_direction.unwrap_or_default() {
            TruncationDirection::Left => TruncationSide::Left,
            TruncationDirection::Right => TruncationSide::Right,
        },
        output: ModelOutput::Scores,
        ..EmbedParameters::default()
    };
    let (work, embedded) = run.run(model, inputs, parameters).await?;
    let scores = model.scores(&embedded, body.raw_scores.unwrap_or(false))?;
    let mut rows: Vec<Vec<Prediction<'_>>> = scores.into_iter().map(|row| predictions(labels, row)).collect();
    let json = match is_batch {
        true => serde_json::to_vec(&rows),
        false => serde_json::to_vec(&rows.pop().unwrap_or_default()),
    };
    Ok(work.answer_scores(model, &embedded, json.map_err(|_| InferenceError::Internal)?))
}

/// Returns the labels of a text, those with the highest score first.
fn predictions(labels: &[String], scores: Vec<f32>) -> Vec<Prediction<'_>> {
    let pairs = labels.iter().zip(scores);
    let mut row: Vec<_> = pairs.map(|(label, score)| Prediction { score, label }).collect();
    row.sort_by(|one, other| other.score.total_cmp(&one.score));
    row
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn read(text: &str) -> Result<(Vec<Input>, bool), String> {
        let body: PredictBody = serde_json::from_str(text).map_err(|error| error.to_string())?;
        body.inputs.read().map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn inputs_are_text_pair_or_batch() {
        let text = Input::Text("a".to_owned());
        let pair = Input::Pair("a".into(), "b".to_owned());
        assert_eq!(read(r#"{"inputs":"a"}"#), Ok((vec![text.clone()], false)));
        assert_eq!(read(r#"{"inputs":["a"]}"#), Ok((vec![text.clone()], false)));
        assert_eq!(read(r#"{"inputs":["a","b"]}"#), Ok((vec![pair.clone()], false)));
        assert_eq!(read(r#"{"inputs":[["a","b"],["a"]]}"#), Ok((vec![pair, text], true)));
    }

    #[test]
    fn other_inputs_are_rejected() {
        for (text, part) in [
            (r#"{"inputs":["a","b","c"]}"#, "not 3 texts; a batch is a list of lists"),
            (r#"{"inputs":[]}"#, "not 0 texts"),
            (r#"{"inputs":[["a"],[]]}"#, "not 0 texts"),
            (r#"{"inputs":[1]}"#, "expected a string or a list of one or two strings"),
            (r#"{"inputs":[["a"],["a","b","c"]]}"#, "one text or a pair, not more texts"),
            (r#"{"inputs":["a",["b"]]}"#, "not both"),
            (r#"{"inputs":null}"#, "expected a string, a pair of strings"),
            (r#"{"inputs":["a","\ud800"]}"#, "input 1 has half of a surrogate pair"),
            (r#"{"inputs":[["a"],["b","\ud800"]]}"#, "input 1 has half of a surrogate pair"),
            (r#"{"inputs":"\ud800"}"#, "input 0 has half of a surrogate pair"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn body_steps_grow_with_its_length() {
        let shapes: [Shape<'_, String>; 3] = [
            ("pairs", &|bytes| repeated("{\"inputs\":[", "[\"\",\"\"],", "[\"\"]]}", bytes)),
            ("texts", &|bytes| repeated("{\"inputs\":[", "\"\",", "\"\"]}", bytes)),
            ("brackets", &|bytes| repeated("{\"inputs\":", "[", "", bytes)),
        ];
        let test = concat!(module_path!(), "::body_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| read(text).is_ok());
    }
}
