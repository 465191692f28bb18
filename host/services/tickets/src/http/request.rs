//! Request bodies, checked like those of FastAPI: all violations are reported at once.

use axum::extract::{FromRequest, Request};
use bulkhead_http::body;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    TicketState,
    error::{BodyViolation, TicketApiError},
};

/// The bound below which floats represent integers exactly: 2 to the power of 53.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Maximum number of bytes of a caller's session.
const LONGEST_SESSION: usize = 128;

/// The members of a request body that are not yet read, and the violations found so far.
pub struct TicketBody {
    members: Map<String, Value>,
    violations: Vec<BodyViolation>,
    /// The session, once it is known.
    session: Option<String>,
}

impl FromRequest<std::sync::Arc<TicketState>> for TicketBody {
    type Rejection = TicketApiError;

    async fn from_request(
        request: Request,
        state: &std::sync::Arc<TicketState>,
    ) -> Result<Self, TicketApiError> {
        let (parts, content) = request.into_parts();
        let is_json = body::is_json(&parts.headers);
        let bytes = match is_json {
            true => body::read_text(&parts.headers, content, state.body_limits).await?,
            false => body::read(content, state.body_limits).await?,
        };
        Self::read(is_json, &bytes)
    }
}

impl TicketBody {
    /// Reads a body. One that is not declared as JSON counts as a text; an empty one and null count as missing.
    ///
    /// # Errors
    /// 422 where the body is not an object.
    pub fn read(is_json: bool, bytes: &[u8]) -> Result<Self, TicketApiError> {
        let refused = |kind, location: Vec<Value>, message: String, input| {
            TicketApiError::violations(vec![BodyViolation { kind, location, message, input }])
        };
        let body = match is_json {
            _ if bytes.is_empty() => Value::Null,
            true => serde_json::from_slice(bytes).map_err(|error| {
                let location = vec![json!("body"), json!(error.column())];
                refused("json_invalid", location, format!("JSON decode error: {error}"), json!({}))
            })?,
            false => Value::String(String::from_utf8_lossy(bytes).into_owned()),
        };
        let (kind, message) = match body {
            Value::Object(members) => return Ok(Self { members, violations: Vec::new(), session: None }),
            Value::Null => ("missing", "Field required"),
            _ => (
                "model_attributes_type",
                "Input should be a valid dictionary or object to extract fields from",
            ),
        };
        Err(refused(kind, vec![json!("body")], message.to_owned(), body))
    }

    /// Adds a violation of a member.
    fn add_violation(&mut self, name: &str, kind: &'static str, message: &str, input: Value) {
        let location = vec![json!("body"), json!(name)];
        self.violations.push(BodyViolation { kind, location, message: message.to_owned(), input });
    }

    /// Takes a required text.
    pub fn text(&mut self, name: &str) -> String {
        match self.members.remove(name) {
            Some(Value::String(text)) => return text,
            Some(other) => self.add_violation(name, "string_type", "Input should be a valid string", other),
            None => {
                let input = Value::Object(self.members.clone());
                self.add_violation(name, "missing", "Field required", input);
            }
        }
        String::new()
    }

    /// Takes an optional integer.
    pub fn integer(&mut self, name: &str) -> Option<i64> {
        let value = self.members.remove(name)?;
        let (kind, message) = match &value {
            Value::Null => return None,
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => return Some(number),
                (None, Some(number)) if number.fract() != 0.0 => {
                    ("int_from_float", "Input should be a valid integer, got a number with a fractional part")
                }
                (None, Some(number)) if number.abs() < MAX_EXACT_INTEGER => return Some(number as i64),
                (None, _) => {
                    ("int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size")
                }
            },
            Value::String(text) => match text.trim().parse() {
                Ok(number) => return Some(number),
                Err(_) => {
                    ("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
                }
            },
            _ => ("int_type", "Input should be a valid integer"),
        };
        self.add_violation(name, kind, message, value);
        None
    }

    /// Takes the session: a text of at most 128 bytes, or a new UUID where it is null, absent or empty.
    /// Violations are reported with it.
    pub fn session(&mut self) -> String {
        let given = self.members.remove("session_id").filter(|given| !given.is_null() && *given != "");
        let (kind, message, input) = match given {
            None => return self.session.insert(Uuid::new_v4().to_string()).clone(),
            Some(Value::String(text)) if text.len() <= LONGEST_SESSION => {
                return self.session.insert(text).clone();
            }
            Some(Value::String(text)) => {
                ("string_too_long", "String should have at most 128 bytes", Value::String(text))
            }
            Some(other) => ("string_type", "Input should be a valid string", other),
        };
        self.add_violation("session_id", kind, message, input);
        String::new()
    }

    /// Checks that no member violates its type.
    ///
    /// # Errors
    /// 422 with all violations.
    pub fn check(self) -> Result<(), TicketApiError> {
        match self.violations.is_empty() {
            true => Ok(()),
            false => Err(TicketApiError::violations(self.violations).in_session(self.session)),
        }
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    #[test]
    fn body_steps_grow_with_its_length() {
        let numbered = |bytes: usize| {
            let members = (0..bytes / 11).map(|number| format!("\"{number:06}\":0,"));
            format!("{{{}\"end\":0}}", members.collect::<String>())
        };
        let shapes: [Shape<'_, String>; 3] = [
            ("members, and none that is needed", &numbered),
            ("one text", &|bytes| repeated("{\"text\":\"", "\\u00e9", "\"}", bytes)),
            ("one session", &|bytes| repeated("{\"session_id\":\"", "-", "\"}", bytes)),
        ];
        let test = concat!(module_path!(), "::body_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| {
            let mut members = TicketBody::read(true, text.as_bytes()).ok()?;
            let asked = (members.session(), members.text("text"), members.integer("ticket_id"));
            members.check().ok().map(|()| asked)
        });
    }
}
