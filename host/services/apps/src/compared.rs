//! The body of a response as it is compared with another version's: a JSON document by its members, others by their digest.

use axum::http::{HeaderMap, header::CONTENT_TYPE};
use bulkhead_runtime::invoke::{json_fields, redacted};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Longest JSON document that is compared by its members, bytes: its paths may take a thousand times as much.
const JSON_BYTES: usize = 16 << 10;
/// Most members of such a document.
const MEMBERS: usize = 1000;

/// A body of which pieces are still to come.
pub(crate) struct BodyRecord {
    digest: Sha256,
    /// What there is of a JSON document, unless it is too long.
    json: Option<Vec<u8>>,
}

impl BodyRecord {
    /// Returns the record of a body whose response has these header fields.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self { digest: Sha256::new(), json: is_json(headers).then(Vec::new) }
    }

    /// Adds the next piece.
    pub(crate) fn add(&mut self, data: &[u8]) {
        self.digest.update(data);
        let fits = |json: &Vec<u8>| json.len().saturating_add(data.len()) <= JSON_BYTES;
        self.json = self.json.take().filter(fits);
        if let Some(json) = &mut self.json {
            json.extend_from_slice(data);
        }
    }

    /// Returns the body, which has ended.
    pub(crate) fn finish(self) -> ComparedBody {
        let json = self.json.and_then(|json| String::from_utf8(json).ok());
        ComparedBody { digest: hex::encode(self.digest.finalize()), json }
    }
}

/// Returns whether a response says that its body is JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media == "application/json" || media.ends_with("+json")
}

/// A whole body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedBody {
    digest: String,
    json: Option<String>,
}

impl ComparedBody {
    /// Returns the fields that are compared. Texts are not shown: people may have written them.
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        self.members().unwrap_or_else(|| vec![("body sha256".to_owned(), self.digest.clone())])
    }

    /// Returns the members of a JSON document; `None` of another body, and of one that has too many.
    fn members(&self) -> Option<Vec<(String, String)>> {
        let text = self.json.as_deref()?;
        serde_json::from_str::<Value>(text).ok()?;
        let members = json_fields("body", text, &[]);
        let shown = |value: String| if value.starts_with('"') { redacted(&value) } else { value };
        let is_short = members.len() <= MEMBERS;
        is_short.then(|| members.into_iter().map(|(name, value)| (name, shown(value))).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::HeaderValue;

    use super::*;

    fn fields(media: &'static str, pieces: &[&str]) -> Vec<(String, String)> {
        let headers: HeaderMap = [(CONTENT_TYPE, HeaderValue::from_static(media))].into_iter().collect();
        let mut record = BodyRecord::of(&headers);
        pieces.iter().for_each(|piece| record.add(piece.as_bytes()));
        record.finish().fields()
    }

    fn names(media: &'static str, pieces: &[&str]) -> Vec<String> {
        fields(media, pieces).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn json_is_compared_by_member() {
        let pieces = [r#"{"b": [1, "x"], "#, r#""a": {"c": true}}"#];
        for media in ["application/json", "application/JSON; charset=utf-8", "application/problem+json"] {
            assert_eq!(names(media, &pieces), ["body.a.c", "body.b.0", "body.b.1"], "{media}");
        }
        assert_eq!(fields("application/json", &["7"]), [("body".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn texts_of_json_are_not_shown() {
        let of = |text: &str| fields("application/json", &[text]).pop().unwrap().1;
        assert!(!of(r#"{"a": "secret"}"#).contains("secret"));
        assert_ne!(of(r#"{"a": "secret"}"#), of(r#"{"a": "secrex"}"#));
    }

    #[test]
    fn other_bodies_have_a_digest() {
        let long = format!("[{}1]", " ".repeat(JSON_BYTES));
        let many = format!("[{}1]", "1,".repeat(MEMBERS));
        for (media, text) in [
            ("text/plain", "{}"),
            ("application/json", "{"),
            ("application/json", ""),
            ("application/json", &*long),
            ("application/json", &*many),
        ] {
            assert_eq!(names(media, &[text]), ["body sha256"], "{media} {}", text.len());
        }
    }
}
