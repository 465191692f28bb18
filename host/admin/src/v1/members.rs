//! The members of a request's JSON object, whose faults are told in words for people.

use bulkhead_http::json::{self, Fault};
use bulkhead_telemetry::quoted;
use serde_json::Value;

use super::ApiError;

/// What each member is, for whoever left it out or wrote something else.
const MEANINGS: [(&str, &str); 4] = [
    (
        "version",
        "text: the id of a version, the first 8 or more digits of it or of its component's digest, or `embedded`",
    ),
    ("generation", "a whole number: the slot's `generation` as it was last seen"),
    ("weight", "a whole number from 0 to 100: the share of the calls in percent"),
    ("reason", "text for the audit log"),
];

/// An object's members, each of which is known and there once.
pub(super) struct Members(Vec<(String, Value)>);

impl Members {
    /// Reads an object that has no members but `names`.
    pub(super) fn read(body: &[u8], names: &[&str]) -> Result<Self, ApiError> {
        let members = json::members(body).map_err(|fault| ApiError::invalid(said(&fault)))?;
        for (at, (name, _)) in members.iter().enumerate() {
            if !names.contains(&name.as_str()) {
                let (name, all) = (quoted(name), names.join(", "));
                let known =
                    if names.is_empty() { "there are none".to_owned() } else { format!("there are {all}") };
                return Err(ApiError::invalid(format!("the body has no member `{name}`; {known}")));
            }
            if members.iter().skip(at + 1).any(|(other, _)| other == name) {
                return Err(ApiError::invalid(format!("the body has `{name}` twice")));
            }
        }
        Ok(Self(members))
    }

    /// Text that may be left out.
    pub(super) fn maybe_text(&self, name: &'static str) -> Result<Option<String>, ApiError> {
        match self.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong(name)),
        }
    }

    /// Text that must be there.
    pub(super) fn text(&self, name: &'static str) -> Result<String, ApiError> {
        self.maybe_text(name)?.ok_or_else(|| missing(name))
    }

    /// A whole number that must be there.
    pub(super) fn whole(&self, name: &'static str) -> Result<u64, ApiError> {
        self.get(name).ok_or_else(|| missing(name))?.as_u64().ok_or_else(|| wrong(name))
    }

    /// Why something is done; nothing where nobody says.
    pub(super) fn reason(&self) -> Result<String, ApiError> {
        Ok(self.maybe_text("reason")?.unwrap_or_default())
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

fn meaning(name: &str) -> &'static str {
    MEANINGS.iter().find(|(known, _)| *known == name).map_or("", |(_, meaning)| meaning)
}

fn missing(name: &str) -> ApiError {
    ApiError::invalid(format!("the body lacks `{name}`, {}", meaning(name)))
}

/// A member that is something else than it must be.
pub(super) fn wrong(name: &str) -> ApiError {
    ApiError::invalid(format!("`{name}` must be {}", meaning(name)))
}

fn said(fault: &Fault) -> String {
    match fault {
        Fault::NotObject => fault.to_string(),
        Fault::Unreadable(error) if error.is_eof() => "the body is not JSON: it ends too early".to_owned(),
        Fault::Unreadable(error) => {
            format!("the body is not JSON from line {}, column {} on", error.line(), error.column())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn fault_of(body: &str) -> String {
        let read = |body: &str| -> Result<u64, ApiError> {
            let members = Members::read(body.as_bytes(), &["version", "generation"])?;
            members.text("version")?;
            members.whole("generation")
        };
        read(body).unwrap_err().message().to_owned()
    }

    #[test]
    fn faults_are_told_in_plain_words() {
        for (body, said) in [
            ("", "the body is not JSON: it ends too early"),
            ("{\"version\":", "the body is not JSON: it ends too early"),
            ("{\"version\" 1}", "the body is not JSON from line 1, column 12 on"),
            ("[]", "the body must be a JSON object"),
            ("\"text\"", "the body must be a JSON object"),
            ("{}", "the body lacks `version`, text: the id of a version"),
            (r#"{"version":1,"generation":1}"#, "`version` must be text: the id of a version"),
            (r#"{"version":"a"}"#, "the body lacks `generation`, a whole number: the slot's `generation`"),
            (
                r#"{"version":"a","generation":-1}"#,
                "`generation` must be a whole number: the slot's `generation`",
            ),
            (r#"{"version":"a","generation":"1"}"#, "`generation` must be a whole number"),
            (
                r#"{"version":"a","force":true}"#,
                "the body has no member `force`; there are version, generation",
            ),
            (r#"{"version":"a","version":"b"}"#, "the body has `version` twice"),
        ] {
            let fault = fault_of(body);
            assert!(fault.starts_with(said), "{body}: {fault}");
        }
        let long = fault_of(&format!("{{\"{}\\n\":1}}", "x".repeat(9999)));
        assert!(long.len() < 200 && !long.contains('\n'), "{long}");
    }

    #[test]
    fn body_steps_grow_with_its_length() {
        let shapes: [Shape<'_, String>; 3] = [
            ("one member again and again", &|bytes| repeated("{", "\"version\":0,", "\"version\":0}", bytes)),
            ("one text", &|bytes| repeated("{\"version\":\"", "\\n", "\"}", bytes)),
            ("blanks", &|bytes| repeated("", " ", "{}", bytes)),
        ];
        let test = concat!(module_path!(), "::body_steps_grow_with_its_length");
        // The API takes 16 KiB.
        assert_linear(test, 16 << 10, &shapes, |body| Members::read(body.as_bytes(), &["version"]).is_ok());
    }
}
