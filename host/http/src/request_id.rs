//! Gives each request an id, for its answer and for every log line that it causes.

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
    response::Response,
};
use bulkhead_os::ids::random_id;
use tracing::{Span, field};
use uuid::Uuid;

/// The header that carries a request's id in both directions.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// W3C Trace Context's header.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Longest id that is accepted from a client.
const LONGEST: usize = 64;

/// A request's id. In every request's extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Returns the id: 1 to 64 visible ASCII characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Makes a new id.
    pub fn random() -> Self {
        let mut text = Uuid::encode_buffer();
        Self((&*random_id().hyphenated().encode_lower(&mut text)).into())
    }

    /// Adds the id to an answer.
    pub(super) fn add_to(&self, response: &mut Response) {
        if let Ok(value) = HeaderValue::from_str(self.as_str()) {
            response.headers_mut().insert(X_REQUEST_ID, value);
        }
    }

    fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
        match given.filter(|id| is_acceptable(id)) {
            Some(id) => Self(id.into()),
            None => Self::random(),
        }
    }
}

fn is_acceptable(id: &str) -> bool {
    (1..=LONGEST).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Gives the request an id, or accepts the client's, and returns it with the span `request{id, traceparent}`, in which the
/// request is answered.
pub(super) fn begin(request: &mut Request) -> (RequestId, Span) {
    let id = RequestId::of(request.headers());
    // At the level of errors, so that no log level switches the span off while it lets lines through.
    let span = tracing::error_span!("request", id = id.as_str(), traceparent = field::Empty);
    if let Some(parent) = traceparent(request.headers()) {
        span.record("traceparent", parent);
    }
    request.extensions_mut().insert(id.clone());
    (id, span)
}

/// Returns `traceparent`, if it has the form of <https://www.w3.org/TR/trace-context/>.
fn traceparent(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(TRACEPARENT)?.to_str().ok()?;
    let mut parts = text.splitn(5, '-');
    let version = hex_field(parts.next()?, 2)?;
    let (trace, parent) = (hex_field(parts.next()?, 32)?, hex_field(parts.next()?, 16)?);
    hex_field(parts.next()?, 2)?;
    let well_formed = match version {
        "ff" => false,
        "00" => parts.next().is_none(),
        // A later version may append fields.
        _ => text.len() <= 2 * LONGEST,
    };
    let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
    (well_formed && !is_zero(trace) && !is_zero(parent)).then_some(text)
}

fn hex_field(text: &str, length: usize) -> Option<&str> {
    let is_hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == length && text.bytes().all(is_hex)).then_some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    fn id_for(value: &str) -> String {
        RequestId::of(&headers(X_REQUEST_ID, value)).as_str().to_owned()
    }

    #[test]
    fn client_id_of_64_characters_is_kept() {
        assert_eq!(id_for("a-1_Z~!"), "a-1_Z~!");
        assert_eq!(id_for(&"x".repeat(64)), "x".repeat(64));
    }

    #[test]
    fn invalid_id_is_replaced() {
        for bad in ["", "two words", "tab\there", &"x".repeat(65)] {
            let id = id_for(bad);
            assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4, "{bad:?}");
        }
        assert_ne!(RequestId::of(&HeaderMap::new()), RequestId::of(&HeaderMap::new()));
    }

    #[test]
    fn traceparent_is_taken_only_in_its_form() {
        const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parsed = |value: &str| traceparent(&headers(TRACEPARENT, value)).map(str::to_owned);
        assert_eq!(parsed(GOOD).as_deref(), Some(GOOD));
        assert!(parsed(&GOOD.replacen("00", "01", 1)).is_some());
        assert!(parsed(&format!("{}-more", GOOD.replacen("00", "01", 1))).is_some());
        for bad in [
            &format!("{GOOD}-more"),
            &GOOD.replacen("00", "ff", 1),
            &GOOD.to_uppercase(),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &GOOD[..GOOD.len() - 1],
            "garbage",
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }

    #[test]
    fn steps_of_ids_grow_with_headers() {
        const LATER: &str = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-";
        let with = |name, head: &str, unit: &str, bytes| headers(name, &repeated(head, unit, "", bytes));
        let shapes: [Shape<'_, HeaderMap>; 4] = [
            ("id", &|bytes| with(X_REQUEST_ID, "", "a", bytes)),
            ("hexadecimal digits", &|bytes| with(TRACEPARENT, "", "a", bytes)),
            ("hyphens", &|bytes| with(TRACEPARENT, "", "-", bytes)),
            ("fields of a later version", &|bytes| with(TRACEPARENT, LATER, "a-", bytes)),
        ];
        let test = concat!(module_path!(), "::steps_of_ids_grow_with_headers");
        assert_linear(test, 1 << 20, &shapes, |headers| {
            (RequestId::of(headers), traceparent(headers).is_some())
        });
    }
}
