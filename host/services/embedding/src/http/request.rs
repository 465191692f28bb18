//! Request bodies: what clients of text-embeddings-inference and of OpenAI send.

use std::{fmt, sync::Arc};

use axum::extract::{FromRequest, Request};
use bulkhead_http::{body, json};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, SeqAccess, Visitor},
};

use super::{EmbeddingState, error::ApiError};

/// What a client that sends token ids has to hear.
const TOKEN_ARRAY: &str = "token arrays are not supported, send text; \
    LangChain's OpenAIEmbeddings does with check_embedding_ctx_length=False";

/// The texts of a request: one, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs(pub Vec<String>);

/// One member of a list of inputs.
struct Input(String);

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Input;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Input, E> {
                Ok(Input(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Input, E> {
                Ok(Input(text))
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Input, E> {
                Err(E::custom(TOKEN_ARRAY))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Input, A::Error> {
                Err(de::Error::custom(TOKEN_ARRAY))
            }
        }

        deserializer.deserialize_any(Text)
    }
}

impl<'de> Deserialize<'de> for Inputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = Inputs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Inputs, E> {
                Ok(Inputs(vec![text.to_owned()]))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Inputs, E> {
                Ok(Inputs(vec![text]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Inputs, A::Error> {
                let mut texts = Vec::new();
                while let Some(Input(text)) = entries.next_element()? {
                    texts.push(text);
                }
                Ok(Inputs(texts))
            }
        }

        deserializer.deserialize_any(Texts)
    }
}

/// Where a text that is too long is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Its beginning goes.
    Left,
    /// Its end goes.
    #[default]
    Right,
}

impl<'de> Deserialize<'de> for Direction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.to_ascii_lowercase().as_str() {
            "left" => Ok(Self::Left),
            "right" => Ok(Self::Right),
            _ => Err(de::Error::custom("truncation_direction must be Left or Right")),
        }
    }
}

/// Body of `/embed`. Members that other servers know and this one does not are passed over.
#[derive(Debug, Deserialize)]
pub struct EmbedBody {
    /// The texts.
    pub inputs: Inputs,
    /// Cut texts that are too long; absent: cut, and say so in a header.
    #[serde(default)]
    pub truncate: Option<bool>,
    /// Which end is cut.
    #[serde(default)]
    pub truncation_direction: Option<Direction>,
    /// Scale vectors to length 1; absent: as the model says.
    #[serde(default)]
    pub normalize: Option<bool>,
    /// Name of a prompt of the model.
    #[serde(default)]
    pub prompt_name: Option<String>,
    /// Keep only the first numbers of each vector.
    #[serde(default)]
    pub dimensions: Option<u64>,
}

/// Body of `/v1/embeddings`.
#[derive(Debug, Deserialize)]
pub struct OpenAiBody {
    /// The texts.
    pub input: Inputs,
    /// A canonical id or an alias; absent: the default model.
    #[serde(default)]
    pub model: Option<String>,
    /// `float` or `base64`.
    #[serde(default)]
    pub encoding_format: Option<String>,
    /// Keep only the first numbers of each vector.
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
    pub inputs: Inputs,
    /// Absent: true.
    #[serde(default)]
    pub add_special_tokens: Option<bool>,
    /// Name of a prompt of the model.
    #[serde(default)]
    pub prompt_name: Option<String>,
}

/// A JSON object as a request body.
pub struct JsonObject<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<EmbeddingState>> for JsonObject<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &Arc<EmbeddingState>) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = body::read_json(&parts.headers, body, state.body_limits).await?;
        parse(&bytes).map(Self)
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    json::object(bytes).map_err(ApiError::invalid)
}

/// Refuses the query parameter `model`, by which release 0.3 of the old server chose models.
///
/// # Errors
/// When the query has it, in whatever encoding.
pub fn refuse_model_parameter(query: Option<&str>) -> Result<(), ApiError> {
    let named = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).any(|(name, _)| name == "model");
    match named {
        false => Ok(()),
        true => Err(ApiError::invalid(
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
    fn a_string_and_an_array_of_strings_are_inputs() {
        assert_eq!(read(r#" {"inputs":"a\u00e9"}"#).unwrap().inputs, Inputs(vec!["aé".into()]));
        let two = read(r#"{"inputs":["a","b"],"truncate":null,"unknown":[{}]}"#).unwrap();
        assert_eq!(two.inputs, Inputs(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn token_arrays_are_named() {
        for text in [r#"{"inputs":[1,2]}"#, r#"{"inputs":[[1],[2]]}"#, r#"{"inputs":["a",3]}"#] {
            assert!(read(text).unwrap_err().contains("check_embedding_ctx_length=False"), "{text}");
        }
    }

    #[test]
    fn what_is_no_object_of_this_shape_is_refused() {
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
    fn directions_are_read_in_any_case() {
        for (text, direction) in [("Left", Direction::Left), ("right", Direction::Right)] {
            let body = read(&format!(r#"{{"inputs":"a","truncation_direction":"{text}"}}"#)).unwrap();
            assert_eq!(body.truncation_direction, Some(direction));
        }
    }

    #[test]
    fn the_retired_parameter_is_refused_in_any_encoding() {
        for query in ["model=a", "model", "model=", "x=1&%6dodel=a", "mode%6C=a"] {
            assert!(refuse_model_parameter(Some(query)).is_err(), "{query}");
        }
        for query in [None, Some(""), Some("Model=a"), Some("x=model"), Some("models=a")] {
            assert!(refuse_model_parameter(query).is_ok(), "{query:?}");
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
