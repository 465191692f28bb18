//! Parses a JSON object one level deep: every value stays text, so that only the sandbox parses a hostile payload.

use std::{borrow::Cow, collections::BTreeMap};

use bulkhead_http::json;
use serde_json::value::RawValue;

use super::error::CaptchaApiError;

/// Greatest nesting depth of objects and arrays in a request, the outermost included.
const MAX_DEPTH: usize = 32;

/// The member whose nested keys are not checked.
const PAYLOAD: &str = "payload";

/// The members of a JSON object by name. Duplicate names are errors.
#[derive(Debug)]
pub struct CaptchaMembers<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> CaptchaMembers<'a> {
    /// Parses an object; `what` names it in errors.
    pub fn parse(text: &'a str, what: &'static str) -> Result<Self, CaptchaApiError> {
        let members = Self::parse_member(text, what)?;
        if nesting(text) > MAX_DEPTH {
            return Err(CaptchaApiError::bad_request(
                "too-deep",
                format!("{what} must not nest deeper than {MAX_DEPTH} levels"),
            ));
        }
        Ok(members)
    }

    /// Parses an object that is a member of a parsed one, whose depth bounds its own.
    pub fn parse_member(text: &'a str, what: &'static str) -> Result<Self, CaptchaApiError> {
        Self::read(text).map_err(|error| parse_error(&error, text, what))
    }

    fn read(text: &'a str) -> serde_json::Result<Self> {
        let mut members = BTreeMap::new();
        json::each(text.as_bytes(), |name, value| members.insert(name, value).is_none())?;
        Ok(Self(members))
    }

    /// Parses a body. Rejects duplicate keys at any depth, except in the payload, which the sandbox parses.
    pub fn of_body(text: &'a str) -> Result<Self, CaptchaApiError> {
        const WHAT: &str = "the body";
        let members = Self::parse(text, WHAT)?;
        for (_, value) in members.0.iter().filter(|(name, _)| *name != PAYLOAD) {
            reject_duplicate_keys(value).map_err(|error| parse_error(&error, text, WHAT))?;
        }
        Ok(members)
    }

    /// Checks whether there is a member of this name, null or not.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns a string that must be present and not blank.
    pub fn required(&self, name: &'static str) -> Result<String, CaptchaApiError> {
        match self.optional(name)? {
            Some(text) if !is_blank(&text) => Ok(text),
            _ => Err(invalid(name, "is required and must not be blank")),
        }
    }

    /// Returns a string that may be absent or null.
    pub fn optional(&self, name: &'static str) -> Result<Option<String>, CaptchaApiError> {
        match self.text(name)? {
            Some(text) if text.contains('\0') => Err(invalid(name, "must not contain NUL")),
            other => Ok(other),
        }
    }

    /// Returns a string that may be absent or null, and may contain NUL.
    pub fn text(&self, name: &'static str) -> Result<Option<String>, CaptchaApiError> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        serde_json::from_str(value.get()).map_err(|_| invalid(name, "must be a string of valid characters"))
    }

    /// Returns the text of an object that must be present.
    pub fn object(&self, name: &'static str) -> Result<&'a str, CaptchaApiError> {
        match self.0.get(name).map(|value| value.get()) {
            Some(text) if text.starts_with('{') => Ok(text),
            _ => Err(invalid(name, "is required and must be an object")),
        }
    }
}

/// Rejects duplicate keys in the objects of `value`. Recurses at most [`MAX_DEPTH`] levels, which the caller has
/// checked.
fn reject_duplicate_keys(value: &RawValue) -> serde_json::Result<()> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => CaptchaMembers::read(text)?.0.into_values().try_for_each(reject_duplicate_keys),
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(text)?;
            values.into_iter().try_for_each(reject_duplicate_keys)
        }
        _ => Ok(()),
    }
}

/// Returns the error for an invalid member.
pub fn invalid(name: &'static str, rule: &str) -> CaptchaApiError {
    CaptchaApiError::bad_request("invalid-field", format!("{name} {rule}"))
}

/// Checks whether text is blank in Java's sense: no character above U+0020.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c <= ' ')
}

/// Returns the error for a text that cannot be parsed as an object.
fn parse_error(error: &serde_json::Error, text: &str, what: &'static str) -> CaptchaApiError {
    if error.is_data() {
        let rule = match text.trim_start().starts_with('{') {
            true => "must not have a member twice in one object",
            false => "must be a JSON object",
        };
        return CaptchaApiError::bad_request("invalid-object", format!("{what} {rule}"));
    }
    let (line, column) = (error.line(), error.column());
    let message = format!("{what} is not JSON: see line {line}, column {column}");
    CaptchaApiError::bad_request("invalid-json", message)
}

/// Returns the nesting depth of objects and arrays in valid JSON.
fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn code(text: &str) -> &'static str {
        CaptchaMembers::parse(text, "the body").unwrap_err().code
    }

    #[test]
    fn values_stay_text() {
        let members =
            CaptchaMembers::parse(r#" {"a" : { "x": [1.50, null] } , "b":"t\u00e4"} "#, "x").unwrap();
        assert_eq!(members.object("a").unwrap(), r#"{ "x": [1.50, null] }"#);
        assert_eq!(members.required("b").unwrap(), "tä");
        assert!(members.contains("a") && !members.contains("c"));
    }

    #[test]
    fn malformed_json_is_refused() {
        for text in [
            "",
            "{",
            "nope",
            r#"{"a":1}x"#,
            r#"{"a":01}"#,
            "{\"a\":\"\0\"}",
            "{\"a\":1\0}",
            r#"{"a":"\q"}"#,
            "{'a':1}",
            r#"{"a":1,}"#,
            r#"{"a":{]}}"#,
        ] {
            assert_eq!(code(text), "invalid-json", "{text:?}");
        }
    }

    #[test]
    fn non_objects_and_duplicate_keys_are_refused() {
        for text in ["[]", "1", "\"x\"", "null", r#"{"a":1,"a":1}"#, r#"{"\u0061":1,"b":2,"a":1}"#] {
            assert_eq!(code(text), "invalid-object", "{text:?}");
        }
        let message = |text: &str| CaptchaMembers::of_body(text).unwrap_err().message;
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(message(&deep), "the body must be a JSON object");
        for text in [r#" {"a":1,"a":1}"#, r#"{"a":[{"b":1,"b":1}]}"#] {
            assert_eq!(message(text), "the body must not have a member twice in one object", "{text}");
        }
    }

    #[test]
    fn nested_duplicate_keys_are_refused_outside_payload() {
        for text in [
            r#"{"zz":{"a":1,"a":2}}"#,
            r#"{"zz":[0,[{"b":{"x":"\ud800","a":1,"\u0061":2}}]]}"#,
            r#"{"payload":{},"zz":{"payload":{"a":1,"a":2}}}"#,
        ] {
            assert_eq!(CaptchaMembers::of_body(text).unwrap_err().code, "invalid-object", "{text}");
            assert!(CaptchaMembers::parse(text, "x").is_ok());
        }
        for text in [r#"{"payload":{"a":1,"a":2}}"#, r#"{"zz":[{"a":1},{"a":"\ud800"}],"a":1e999}"#] {
            assert!(CaptchaMembers::of_body(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn nesting_depth_is_capped_outside_strings() {
        let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(CaptchaMembers::parse(&nested(31), "x").is_ok());
        assert_eq!(code(&nested(32)), "too-deep");
        assert_eq!(code(&nested(100_000)), "too-deep");
        let text = format!(r#"{{"a":"\"{}"}}"#, "[".repeat(100));
        assert!(CaptchaMembers::parse(&text, "x").is_ok());
    }

    #[test]
    fn strings_must_be_strings() {
        let members = CaptchaMembers::parse(
            r#"{"n":1,"null":null,"blank":" \t","nul":"a\u0000","half":"\ud800"}"#,
            "x",
        )
        .unwrap();
        for name in ["n", "null", "blank", "nul", "half", "absent"] {
            assert_eq!(members.required(name).unwrap_err().code, "invalid-field", "{name}");
        }
        assert_eq!(members.optional("null").unwrap(), None);
        assert_eq!(members.optional("absent").unwrap(), None);
        for name in ["n", "null", "blank", "absent"] {
            assert_eq!(members.object(name).unwrap_err().code, "invalid-field", "{name}");
        }
    }

    #[test]
    fn body_steps_grow_with_its_length() {
        let numbered = |bytes: usize| {
            let members = (0..bytes / 11).map(|number| format!("\"{number:06}\":0,"));
            format!("{{{}\"end\":0}}", members.collect::<String>())
        };
        let deep = format!("{}1{},", "[".repeat(8), "]".repeat(8));
        let shapes: [Shape<'_, String>; 5] = [
            ("members", &numbered),
            ("one member again and again", &|bytes| repeated("{\"a\":{", "\"a\":0,", "\"b\":0}}", bytes)),
            ("nested arrays", &|bytes| repeated("{\"a\":[", &deep, "0]}", bytes)),
            ("brackets", &|bytes| repeated("{\"a\":", "[", "", bytes)),
            ("escapes", &|bytes| repeated("{\"a\":\"", "\\u00e9", "\"}", bytes)),
        ];
        let test = concat!(module_path!(), "::body_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| {
            CaptchaMembers::of_body(text).and_then(|members| members.optional("a")).is_ok()
        });
    }
}
