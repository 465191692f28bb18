//! Answers request heads that the HTTP/1 parser refuses, with a JSON body and a request id.
//!
//! hyper answers such a head without asking a service: a status line, `connection: close` and no body. The stream of
//! the connection recognises that answer and replaces it by this one.

use std::time::SystemTime;

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::json;
use tracing::field;

use super::observer::ConnectionFault;
use crate::{
    error::{HostError, NO_STORE},
    request_id::RequestId,
};

/// The refusal of a request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RefusedHead(HostError);

impl RefusedHead {
    /// Returns the refusal that `written` is the beginning of: the parser's own answers have one of two statuses. (A
    /// target that is too long for it makes the head too large first.)
    pub(super) fn of(written: &[u8]) -> Option<Self> {
        let rest = written.strip_prefix(b"HTTP/1.")?;
        let status = rest.strip_prefix(b"1 ").or_else(|| rest.strip_prefix(b"0 "))?.get(..3)?;
        let error = match status {
            b"400" => HostError::MALFORMED_HEAD,
            b"431" => HostError::HEAD_TOO_LARGE,
            _ => return None,
        };
        Some(Self(error))
    }

    /// Returns the fault of the connection.
    pub(super) fn fault(self) -> ConnectionFault {
        match self.0.status {
            StatusCode::BAD_REQUEST => ConnectionFault::Malformed,
            _ => ConnectionFault::TooLarge,
        }
    }

    /// Returns the whole answer, whose request id is in the log.
    pub(super) fn answer(self) -> Bytes {
        let Self(HostError { status, code, message }) = self;
        let id = RequestId::random();
        let span = tracing::error_span!("request", id = id.as_str(), traceparent = field::Empty);
        span.in_scope(|| tracing::info!(status = status.as_u16(), code, "the request head was refused"));
        let body = json!({ "error": code, "message": message }).to_string();
        let head = [
            ("content-type", "application/json"),
            ("content-length", body.len().to_string().as_str()),
            ("cache-control", NO_STORE),
            ("x-content-type-options", "nosniff"),
            ("x-request-id", id.as_str()),
            ("connection", "close"),
            ("date", httpdate::fmt_http_date(SystemTime::now()).as_str()),
        ]
        .map(|(name, value)| format!("{name}: {value}\r\n"));
        format!("HTTP/1.1 {status}\r\n{}\r\n{body}", head.concat()).into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn only_statuses_of_the_parser_are_refusals() {
        for (head, fault) in [
            ("HTTP/1.1 400 Bad Request\r\n", ConnectionFault::Malformed),
            ("HTTP/1.0 400 Bad Request\r\n", ConnectionFault::Malformed),
            ("HTTP/1.1 431 Request Header Fields Too Large\r\n", ConnectionFault::TooLarge),
        ] {
            assert_eq!(RefusedHead::of(head.as_bytes()).unwrap().fault(), fault, "{head}");
        }
        for head in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK", "HTTP/1.1 40", "HTTP/2 400", ""] {
            assert_eq!(RefusedHead::of(head.as_bytes()), None, "{head}");
        }
    }

    #[test]
    fn the_answer_is_json_with_an_id() {
        let answer = RefusedHead::of(b"HTTP/1.1 431 ").unwrap().answer();
        let text = std::str::from_utf8(&answer).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
        assert!(head.contains("\r\nx-request-id: ") && head.contains("\r\nconnection: close\r\n"), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"], "head_too_large");
    }
}
