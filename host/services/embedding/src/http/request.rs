//! Request bodies of clients of text-embeddings-inference and of OpenAI.

mod input_list;
mod openai_inputs;

use std::{fmt, sync::Arc};

use axum::extract::{FromRequest, Request};
use bulkhead_http::{body, json};
use bulkhead_models::InferenceError;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, SeqAccess, Visitor},
};

pub use self::input_list::{InputList, naming_half_pair, naming_half_pair_of, read_inputs};
pub use self::openai_inputs::OpenAiInputs;
use super::{EmbeddingState, error::EmbeddingApiError};

/// The error text for clients that send token ids.
pub const TOKEN_ARRAY: &str = "token arrays are not supported, send text; \
    LangChain's OpenAIEmbeddings does with check_embedding_ctx_length=False";

/// The bytes of a body up to which an async worker parses it: a larger one would keep it from other requests.
const QUICK_BODY: usize = 256 << 10;

/// The texts of a request: one, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedInputs(pub Vec<String>);

/// One member of a list of inputs.
struct EmbedInput(String);

impl<'de> Deserialize<'de> for EmbedInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputVisitor;

        impl<'de> Visitor<'de> for InputVisitor {
            type Value = EmbedInput;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<EmbedInput, E> {
                Ok(EmbedInput(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<EmbedInput, E> {
                Ok(EmbedInput(text))
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<EmbedInput, E> {
                Err(E::custom(TOKEN_ARRAY))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<EmbedInput, A::Error> {
                Err(de::Error::custom(TOKEN_ARRAY))
            }
        }

        deserializer.deserialize_any(InputVisitor)
    }
}

impl<'de> Deserialize<'de> for EmbedInputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputsVisitor;

        impl<'de> Visitor<'de> for InputsVisitor {
            type Value = EmbedInputs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<EmbedInputs, E> {
                Ok(EmbedInputs(vec![text.to_owned()]))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<EmbedInputs, E> {
                Ok(EmbedInputs(vec![text]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<EmbedInputs, A::Error> {
                let texts: Vec<EmbedInput> = read_inputs(entries)?;
                Ok(EmbedInputs(texts.into_iter().map(|EmbedInput(text)| text).collect()))
            }
        }

        deserializer.deserialize_any(InputsVisitor).map_err(|error| naming_half_pair(0, error))
    }
}

/// The side on which a text that is too long is truncated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TruncationDirection {
    /// Its beginning is removed.
    Left,
    /// Its end is removed.
    #[default]
    Right,
}

impl<'de> Deserialize<'de> for TruncationDirection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.to_ascii_lowercase().as_str() {
            "left" => Ok(Self::Left),
            "right" => Ok(Self::Right),
            _ => Err(de::Error::custom("truncation_direction must be Left or Right")),
        }
    }
}

/// Body of `/embed`. Unknown members are ignored.
#[derive(Debug, Deserialize)]
pub struct EmbedBody {
    /// The texts.
    pub inputs: EmbedInputs,
    /// Whether texts that are too long are truncated; absent: they are, and a header counts them.
    #[serde(default)]
    pub truncate: Option<bool>,
    /// The side that is truncated.
    #[serde(default)]
    pub truncation_direction: Option<TruncationDirection>,
    /// Whether vectors are scaled to length 1; absent: the model's default.
    #[serde(default)]
    pub normalize: Option<bool>,
    /// Name of a prompt of the model.
    #[serde(default)]
    pub prompt_name: Option<String>,
    /// Number of leading dimensions to keep.
    #[serde(default)]
    pub dimensions: Option<u64>,
}

/// Body of `/v1/embeddings`.
#[derive(Debug, Deserialize)]
pub struct OpenAiBody {
    /// The texts, or their token ids.
    pub input: OpenAiInputs,
    /// A canonical id or an alias; absent: the default model.
    #[serde(default)]
    pub model: Option<String>,
    /// `float` or `base64`.
    #[serde(default)]
    pub encoding_format: Option<String>,
    /// Number of leading dimensions to keep.
    #[serde(default)]
    pub dimensions: Option<u64>,
    /// Name of a prompt of the model; not OpenAI's.
    #[serde(default)]
    pub prompt_name: Option<String>,
}

/// Body of `/tokenize`.
#[derive(Debug, Deserialize)]
pub struct TokenizeBody {
    /// The texts.
    pub inputs: EmbedInputs,
    /// Whether special tokens are included; absent: true.
    #[serde(default)]
    pub add_special_tokens: Option<bool>,
    /// Name of a prompt of the model.
    #[serde(default)]
    pub prompt_name: Option<String>,
}

/// A JSON object as a request body.
pub struct JsonObject<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<EmbeddingState>> for JsonObject<T> {
    type Rejection = EmbeddingApiError;

    async fn from_request(request: Request, state: &Arc<EmbeddingState>) -> Result<Self, EmbeddingApiError> {
        let (parts, body) = request.into_parts();
        let bytes = body::read_json(&parts.headers, body, state.body_limits).await?;
        if bytes.len() <= QUICK_BODY {
            return parse(&bytes).map(Self);
        }
        let parsed = tokio::task::spawn_blocking(move || parse::<T>(&bytes)).await;
        parsed.map_err(|_| InferenceError::Internal)?.map(Self)
    }
}

/// Parses a JSON object.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, EmbeddingApiError> {
    json::object(bytes).map_err(EmbeddingApiError::invalid)
}

/// Rejects the query parameter `model`, which chose the model in release 0.3 of the replaced server.
///
/// # Errors
/// When the query has the parameter, in any encoding.
pub fn reject_model_parameter(query: Option<&str>) -> Result<(), EmbeddingApiError> {
    let named = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).any(|(name, _)| name == "model");
    match named {
        false => Ok(()),
        true => Err(EmbeddingApiError::invalid(
            "the query parameter `model` is no longer supported; address a model as /tei/{model_id}/embed or \
             /tei/{model_id}/info",
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn read(text: &str) -> Result<EmbedBody, String> {
        parse(text.as_bytes()).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn inputs_are_one_string_or_several() {
        assert_eq!(read(r#" {"inputs":"a\u00e9"}"#).unwrap().inputs, EmbedInputs(vec!["aé".into()]));
        let two = read(r#"{"inputs":["a","b"],"truncate":null,"unknown":[{}]}"#).unwrap();
        assert_eq!(two.inputs, EmbedInputs(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn token_arrays_are_rejected_with_advice() {
        for text in [r#"{"inputs":[1,2]}"#, r#"{"inputs":[[1],[2]]}"#, r#"{"inputs":["a",3]}"#] {
            assert!(read(text).unwrap_err().contains("check_embedding_ctx_length=False"), "{text}");
        }
    }

    #[test]
    fn other_json_values_are_rejected() {
        for text in [
            "",
            "{",
            "[\"a\"]",
            "\"a\"",
            "{}",
            r#"{"inputs":null}"#,
            r#"{"inputs":1}"#,
            r#"{"inputs":{"a":1}}"#,
            r#"{"inputs":["a",null]}"#,
            r#"{"inputs":"a","inputs":"b"}"#,
            r#"{"inputs":"a"} x"#,
            r#"{"inputs":"\ud800"}"#,
            r#"{"inputs":"a","truncate":"yes"}"#,
            r#"{"inputs":"a","truncation_direction":"up"}"#,
            r#"{"inputs":"a","dimensions":-1}"#,
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("invalid_request") && !error.contains("EmbedBody"), "{text}: {error}");
        }
        assert!(parse::<EmbedBody>(b"{\"inputs\":\"\xff\"}").is_err());
    }

    #[test]
    fn directions_are_case_insensitive() {
        for (text, direction) in [("Left", TruncationDirection::Left), ("right", TruncationDirection::Right)]
        {
            let body = read(&format!(r#"{{"inputs":"a","truncation_direction":"{text}"}}"#)).unwrap();
            assert_eq!(body.truncation_direction, Some(direction));
        }
    }

    #[test]
    fn model_parameter_is_rejected_in_any_encoding() {
        for query in ["model=a", "model", "model=", "x=1&%6dodel=a", "mode%6C=a"] {
            assert!(reject_model_parameter(Some(query)).is_err(), "{query}");
        }
        for query in [None, Some(""), Some("Model=a"), Some("x=model"), Some("models=a")] {
            assert!(reject_model_parameter(query).is_ok(), "{query:?}");
        }
    }

    #[test]
    fn body_steps_grow_with_its_length() {
        let shapes: [Shape<'_, String>; 4] = [
            ("texts", &|bytes| repeated("{\"inputs\":[", "\"\",", "\"\"]}", bytes)),
            ("one text", &|bytes| repeated("{\"inputs\":\"", "\\u00e9", "\"}", bytes)),
            ("unknown members", &|bytes| repeated("{", "\"a\":[0],", "\"inputs\":\"a\"}", bytes)),
            ("brackets", &|bytes| repeated("{\"a\":", "[", "", bytes)),
        ];
        let test = concat!(module_path!(), "::body_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| parse::<EmbedBody>(text.as_bytes()).is_ok());
    }
}
