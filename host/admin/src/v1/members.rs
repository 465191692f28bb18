//! The members of a request's JSON object, with error messages for people.

use bulkhead_http::json::{self, ObjectError};
use bulkhead_telemetry::quoted;
use serde_json::Value;

use super::AdminApiError;

/// What each member must be, for error messages.
const MEANINGS: [(&str, &str); 4] = [
    (
        "version",
        "text: the id of a version, the first 8 or more digits of it or of its component's digest, or `embedded`",
    ),
    ("generation", "a whole number: the slot's `generation` as it was last seen"),
    ("weight", "a whole number from 0 to 100: the share of the calls in percent"),
    ("reason", "text for the audit log"),
];

/// The members of an object, each of which is known and occurs once.
pub(super) struct RequestMembers(Vec<(String, Value)>);

impl RequestMembers {
    /// Reads an object that has no members but `names`.
    pub(super) fn read(body: &[u8], names: &[&str]) -> Result<Self, AdminApiError> {
        let members = json::members(body).map_err(|fault| AdminApiError::invalid(describe(&fault)))?;
        for (at, (name, _)) in members.iter().enumerate() {
            if !names.contains(&name.as_str()) {
                let (name, all) = (quoted(name), names.join(", "));
                let known = if names.is_empty() {
                    "none is allowed".to_owned()
                } else {
                    format!("allowed are {all}")
                };
                return Err(AdminApiError::invalid(format!("unknown member `{name}`; {known}")));
            }
            if members.iter().skip(at + 1).any(|(other, _)| other == name) {
                return Err(AdminApiError::invalid(format!("the body has `{name}` twice")));
            }
        }
        Ok(Self(members))
    }

    /// Returns text that may be left out.
    pub(super) fn optional_text(&self, name: &'static str) -> Result<Option<String>, AdminApiError> {
        match self.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong_type(name)),
        }
    }

    /// Returns text that must be given.
    pub(super) fn text(&self, name: &'static str) -> Result<String, AdminApiError> {
        self.optional_text(name)?.ok_or_else(|| missing(name))
    }

    /// Returns a whole number that must be given.
    pub(super) fn integer(&self, name: &'static str) -> Result<u64, AdminApiError> {
        self.get(name).ok_or_else(|| missing(name))?.as_u64().ok_or_else(|| wrong_type(name))
    }

    /// Returns the reason of a request; empty where it gives none.
    pub(super) fn reason(&self) -> Result<String, AdminApiError> {
        Ok(self.optional_text("reason")?.unwrap_or_default())
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

fn meaning(name: &str) -> &'static str {
    MEANINGS.iter().find(|(known, _)| *known == name).map_or("", |(_, meaning)| meaning)
}

fn missing(name: &str) -> AdminApiError {
    AdminApiError::invalid(format!("the body lacks `{name}`, {}", meaning(name)))
}

/// Returns the error for a member of another type or range.
pub(super) fn wrong_type(name: &str) -> AdminApiError {
    AdminApiError::invalid(format!("`{name}` must be {}", meaning(name)))
}

/// Describes why a body cannot be read.
fn describe(fault: &ObjectError) -> String {
    match fault {
        ObjectError::NotObject => fault.to_string(),
        ObjectError::Unreadable(error) if error.is_eof() => {
            "the body is not JSON: it ends too early".to_owned()
        }
        ObjectError::Unreadable(error) => {
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
        let read = |body: &str| -> Result<u64, AdminApiError> {
            let members = RequestMembers::read(body.as_bytes(), &["version", "generation"])?;
            members.text("version")?;
            members.integer("generation")
        };
        read(body).unwrap_err().message().to_owned()
    }

    #[test]
    fn faults_have_plain_messages() {
        for (body, message) in [
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
            (r#"{"version":"a","force":true}"#, "unknown member `force`; allowed are version, generation"),
            (r#"{"version":"a","version":"b"}"#, "the body has `version` twice"),
        ] {
            let fault = fault_of(body);
            assert!(fault.starts_with(message), "{body}: {fault}");
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
        assert_linear(test, 16 << 10, &shapes, |body| {
            RequestMembers::read(body.as_bytes(), &["version"]).is_ok()
        });
    }
}
