//! The envelope of the replaced server: `{"$schema","meta","data"}`.

use std::fmt::Write as _;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bulkhead_appointments::Clock;
use bulkhead_http::forwarded::Client;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use super::{error::StatusApiError, typed};
use crate::config::StatusSettings;

const META_SCHEMA: &str = "https://schema.berlin.de/queuemanagement/metaresult.json";

/// The media type of JSON, as the replaced server sends it.
const JSON: &str = "application/json";

/// Writes envelopes with the identity of this server.
#[derive(Debug)]
pub struct EnvelopeWriter {
    /// `identifier (version)`.
    name: String,
    /// Path of the service, with a slash at its end.
    path: String,
    clock: Clock,
}

#[derive(Serialize)]
struct StatusEnvelope<'a, T> {
    #[serde(rename = "$schema")]
    schema: String,
    meta: EnvelopeMeta<'a>,
    data: T,
}

#[derive(Serialize)]
struct EnvelopeMeta<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    error: bool,
    generated: String,
    server: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<&'a str>,
}

impl EnvelopeWriter {
    /// Creates a writer from the configuration.
    pub fn new(settings: &StatusSettings, path_prefix: &str, clock: Clock) -> Self {
        Self {
            name: format!("{} ({})", settings.identifier, settings.version),
            path: format!("{path_prefix}{}/", settings.base_path),
            clock,
        }
    }

    /// Writes the envelope of `data`.
    pub fn success(&self, client: Option<&Client>, data: &RawValue) -> String {
        let meta = self.meta(false);
        escaped(json_text(&StatusEnvelope { schema: self.schema(client), meta, data }))
    }

    /// Writes the response of an error.
    pub fn error(&self, client: Option<&Client>, error: &StatusApiError) -> Response {
        let meta =
            EnvelopeMeta { message: Some(&error.message), exception: error.exception, ..self.meta(true) };
        let data = error.data.clone().unwrap_or(Value::Null);
        let text = escaped(json_text(&StatusEnvelope { schema: self.schema(client), meta, data }));
        let mut response = typed(error.status, JSON, text);
        if let Some(seconds) = error.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    fn meta(&self, error: bool) -> EnvelopeMeta<'_> {
        EnvelopeMeta {
            schema: META_SCHEMA,
            error,
            generated: self.clock.iso(Clock::now()),
            server: &self.name,
            message: None,
            exception: None,
        }
    }

    /// Returns the URL of this server as the client addressed it, without the port.
    fn schema(&self, client: Option<&Client>) -> String {
        let (scheme, host) = client.map_or(("http", None), |client| (client.scheme, client.host.as_deref()));
        let host = host.map_or("localhost", without_port);
        format!("{scheme}://{host}{}", self.path)
    }
}

/// Returns the response with an envelope.
pub fn answer(text: String) -> Response {
    typed(StatusCode::OK, JSON, text)
}

fn json_text(value: &impl Serialize) -> String {
    // Text and numbers in memory can always be serialised.
    serde_json::to_string(value).unwrap_or_else(|_| json!({}).to_string())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // Not a colon of an IPv6 address.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// Escapes the characters beyond ASCII of a JSON text, as PHP does. Only strings hold such characters.
fn escaped(text: String) -> String {
    if text.is_ascii() {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text.as_str();
    while let Some((plain, other)) =
        rest.find(|c: char| !c.is_ascii()).and_then(|at| rest.split_at_checked(at))
    {
        out.push_str(plain);
        let mut characters = other.chars();
        let mut units = [0; 2];
        for unit in characters.next().unwrap_or_default().encode_utf16(&mut units) {
            // Writing to a text never fails.
            let _ = write!(out, "\\u{unit:04x}");
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_beyond_ascii_are_escaped() {
        assert_eq!(escaped(r#"{"a":"B\u00fcro"}"#.into()), r#"{"a":"B\u00fcro"}"#);
        assert_eq!(escaped(r#"{"a":"Büro 🏛/"}"#.into()), r#"{"a":"B\u00fcro \ud83c\udfdb/"}"#);
    }

    #[test]
    fn host_loses_only_its_port() {
        for (host, name) in [
            ("example.org:8080", "example.org"),
            ("example.org", "example.org"),
            ("[::1]:8080", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(without_port(host), name);
        }
    }
}
