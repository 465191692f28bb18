//! The replaced server's envelope: `{"$schema","meta","data"}`.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bulkhead_appointments::Clock;
use bulkhead_http::forwarded::Client;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use super::{error::ApiError, typed};
use crate::config::Status;

const META_SCHEMA: &str = "https://schema.berlin.de/queuemanagement/metaresult.json";

/// JSON's media type as the replaced server sends it.
const JSON: &str = "application/json";

/// What the envelope says of this server.
#[derive(Debug)]
pub struct Server {
    /// `identifier (version)`.
    name: String,
    /// Path of the service, with a slash at its end.
    path: String,
    clock: Clock,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    #[serde(rename = "$schema")]
    schema: String,
    meta: Meta<'a>,
    data: T,
}

#[derive(Serialize)]
struct Meta<'a> {
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

impl Server {
    pub fn new(settings: &Status, path_prefix: &str, clock: Clock) -> Self {
        Self {
            name: format!("{} ({})", settings.identifier, settings.version),
            path: format!("{path_prefix}{}/", settings.base_path),
            clock,
        }
    }

    /// The body around `data`.
    pub fn success(&self, client: Option<&Client>, data: &RawValue) -> String {
        let meta = self.meta(false);
        escaped(&json_text(&Envelope { schema: self.schema(client), meta, data }))
    }

    /// The answer to a call that fails.
    pub fn refusal(&self, client: Option<&Client>, error: &ApiError) -> Response {
        let meta = Meta { message: Some(&error.message), exception: error.exception, ..self.meta(true) };
        let data = error.data.clone().unwrap_or(Value::Null);
        let text = escaped(&json_text(&Envelope { schema: self.schema(client), meta, data }));
        let mut response = typed(error.status, JSON, text);
        if let Some(seconds) = error.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    fn meta(&self, error: bool) -> Meta<'_> {
        Meta {
            schema: META_SCHEMA,
            error,
            generated: self.clock.iso(Clock::now()),
            server: &self.name,
            message: None,
            exception: None,
        }
    }

    /// This server as the client called it, without its port.
    fn schema(&self, client: Option<&Client>) -> String {
        let (scheme, host) = client.map_or(("http", None), |client| (client.scheme, client.host.as_deref()));
        let host = host.map_or("localhost", without_port);
        format!("{scheme}://{host}{}", self.path)
    }
}

/// An answer with an envelope.
pub fn answer(text: String) -> Response {
    typed(StatusCode::OK, JSON, text)
}

fn json_text(value: &impl Serialize) -> String {
    // Text and numbers in memory can always be written.
    serde_json::to_string(value).unwrap_or_else(|_| json!({}).to_string())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // Not a colon of an IPv6 address.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// JSON text in ASCII, as PHP writes it: beyond it stand `\u` escapes. Only strings hold such characters.
fn escaped(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_beyond_ascii_is_escaped() {
        assert_eq!(escaped(r#"{"a":"B\u00fcro"}"#), r#"{"a":"B\u00fcro"}"#);
        assert_eq!(escaped(r#"{"a":"Büro 🏛/"}"#), r#"{"a":"B\u00fcro \ud83c\udfdb/"}"#);
    }

    #[test]
    fn a_host_loses_its_port_only() {
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
