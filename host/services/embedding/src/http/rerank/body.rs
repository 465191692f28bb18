//! The body of `/rerank`.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::http::request::{InputList, TruncationDirection, naming_half_pair_of};

/// The body of `/rerank` in any form. Unknown members are ignored.
#[derive(Debug, Deserialize)]
pub struct RerankBody {
    #[serde(deserialize_with = "query")]
    query: String,
    /// The texts of text-embeddings-inference.
    #[serde(default)]
    texts: Option<InputList<String>>,
    /// The texts of Cohere and Jina.
    #[serde(default)]
    documents: Option<InputList<RerankDocument>>,
    #[serde(default)]
    raw_scores: Option<bool>,
    #[serde(default)]
    return_text: Option<bool>,
    #[serde(default)]
    truncate: Option<bool>,
    #[serde(default)]
    truncation_direction: Option<TruncationDirection>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    top_n: Option<u64>,
    #[serde(default)]
    return_documents: Option<bool>,
}

fn query<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map_err(|error| naming_half_pair_of("query", error))
}

/// A document, of which the text counts: a string, or an object with it.
#[derive(Debug)]
struct RerankDocument(String);

impl<'de> Deserialize<'de> for RerankDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Other members are skipped as they are read.
        #[derive(Deserialize)]
        struct DocumentRecord {
            text: String,
        }

        struct DocumentVisitor;

        impl<'de> Visitor<'de> for DocumentVisitor {
            type Value = RerankDocument;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an object with the member `text`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RerankDocument, E> {
                Ok(RerankDocument(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<RerankDocument, A::Error> {
                let DocumentRecord { text } =
                    DocumentRecord::deserialize(MapAccessDeserializer::new(members))?;
                Ok(RerankDocument(text))
            }
        }

        deserializer.deserialize_any(DocumentVisitor)
    }
}

/// The form of a request and its response.
#[derive(Debug, PartialEq, Eq)]
pub enum RerankForm {
    /// That of text-embeddings-inference.
    Tei,
    /// That of Cohere and Jina.
    Documents {
        /// A canonical id or an alias.
        model: Option<String>,
        /// Most results.
        top_n: usize,
    },
}

/// The texts to rank.
#[derive(Debug)]
pub struct Question {
    /// What they are ranked for.
    pub query: String,
    /// The texts.
    pub texts: Vec<String>,
    /// The form of the response.
    pub form: RerankForm,
    /// Whether scores are logits.
    pub raw_scores: bool,
    /// Whether the response has the texts.
    pub returns_texts: bool,
    /// Whether texts that are too long are truncated; absent: they are, and a header counts them.
    pub truncate: Option<bool>,
    /// The side that is truncated.
    pub truncation_direction: TruncationDirection,
}

impl RerankBody {
    /// Returns the question in the form that the members say.
    ///
    /// # Errors
    /// When there are no texts, or those of both forms, or a member has no meaning.
    pub fn question(self) -> Result<Question, &'static str> {
        if self.query.is_empty() {
            return Err("query is an empty string");
        }
        let (texts, form, returns_texts) = match (self.texts, self.documents) {
            (Some(InputList(texts)), None) => (texts, RerankForm::Tei, self.return_text),
            (None, Some(InputList(documents))) => {
                let top_n = match self.top_n {
                    None => usize::MAX,
                    Some(0) => return Err("top_n must be at least 1"),
                    Some(most) => usize::try_from(most).unwrap_or(usize::MAX),
                };
                let texts = documents.into_iter().map(|RerankDocument(text)| text).collect();
                (texts, RerankForm::Documents { model: self.model, top_n }, self.return_documents)
            }
            (None, None) => return Err("the body must have texts, or documents as Cohere's and Jina's has"),
            (Some(_), Some(_)) => return Err("the body must have texts or documents, not both"),
        };
        Ok(Question {
            query: self.query,
            texts,
            form,
            raw_scores: self.raw_scores.unwrap_or(false),
            returns_texts: returns_texts.unwrap_or(false),
            truncate: self.truncate,
            truncation_direction: self.truncation_direction.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn read(text: &str) -> Result<Question, String> {
        let body: RerankBody = serde_json::from_str(text).map_err(|error| error.to_string())?;
        body.question().map_err(str::to_owned)
    }

    #[test]
    fn form_is_that_of_the_texts() {
        let tei = read(r#"{"query":"q","texts":["a","b"],"raw_scores":true,"return_text":true}"#).unwrap();
        assert_eq!((tei.form, tei.texts.len()), (RerankForm::Tei, 2));
        assert!(tei.raw_scores && tei.returns_texts && tei.truncate.is_none());
        let cohere = r#"{"model":"m","query":"q","documents":["a",{"text":"b","id":1}],"top_n":1}"#;
        let cohere = read(cohere).unwrap();
        assert_eq!(cohere.form, RerankForm::Documents { model: Some("m".to_owned()), top_n: 1 });
        assert_eq!(cohere.texts, ["a", "b"]);
        assert!(!cohere.returns_texts);
    }

    #[test]
    fn bodies_without_meaning_are_rejected() {
        for (text, part) in [
            (r#"{"texts":["a"]}"#, "missing field `query`"),
            (r#"{"query":"","texts":["a"]}"#, "query is an empty string"),
            (r#"{"query":"\udc00","texts":["a"]}"#, "query has half of a surrogate pair"),
            (r#"{"query":"q"}"#, "must have texts, or documents"),
            (r#"{"query":"q","texts":[],"documents":[]}"#, "not both"),
            (r#"{"query":"q","documents":[{"title":"a"}]}"#, "missing field `text`"),
            (r#"{"query":"q","documents":[1]}"#, "expected a string or an object with the member `text`"),
            (r#"{"query":"q","documents":["a"],"top_n":0}"#, "top_n must be at least 1"),
            (r#"{"query":"q","texts":[1]}"#, "expected a string"),
            (r#"{"query":"q","texts":["a","\ud800"]}"#, "input 1 has half of a surrogate pair"),
            (r#"{"query":"q","documents":["a",{"text":"\ud800"}]}"#, "input 1 has half of a surrogate pair"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn body_steps_grow_with_its_length() {
        let shapes: [Shape<'_, String>; 3] = [
            ("texts", &|bytes| repeated("{\"query\":\"q\",\"texts\":[", "\"\",", "\"\"]}", bytes)),
            ("documents", &|bytes| {
                repeated("{\"query\":\"q\",\"documents\":[", "{\"text\":\"\"},", "\"\"]}", bytes)
            }),
            ("nested documents", &|bytes| repeated("{\"query\":\"q\",\"documents\":[", "[", "", bytes)),
        ];
        let test = concat!(module_path!(), "::body_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| read(text).is_ok());
    }
}
