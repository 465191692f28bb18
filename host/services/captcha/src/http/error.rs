//! Errors of the service: one JSON shape for every status, `{timestamp,status,error,path,code,message}`, after Spring
//! Boot's default error body.

use std::{borrow::Cow, time::SystemTime};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bulkhead_http::body::BodyError;
use bulkhead_runtime::invoke::Outcome;
use bulkhead_telemetry::timestamp::rfc3339_millis;
use serde_json::json;

use crate::CaptchaCallError;

/// When a client may retry a call that found no permit or ran out of time, seconds.
const RETRY_AFTER_SECONDS: u32 = 1;

/// An error of a call. [`CaptchaApiError::write`], which knows the path, writes its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptchaApiError {
    /// HTTP status.
    pub status: StatusCode,
    /// A stable code for programs.
    pub code: &'static str,
    /// A text for people.
    pub message: Cow<'static, str>,
    /// Value of `Retry-After`, seconds.
    pub retry_after: Option<u32>,
    /// Value of `WWW-Authenticate`.
    pub authenticate: Option<&'static str>,
}

impl CaptchaApiError {
    /// Returns an error with a status, a code and a text.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), retry_after: None, authenticate: None }
    }

    /// Returns 400: the request is malformed or incomplete.
    pub(crate) fn bad_request(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Returns 401: the site does not exist, or the secret is not its own; the answer does not reveal which.
    pub fn wrong_credentials() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "wrong-credentials", "wrong credentials")
    }

    /// Returns 429: too many calls, or too many wrong secrets.
    pub fn too_many(what: &'static str, seconds: u32) -> Self {
        let message = format!("too many {what}; try again in {seconds} s");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", message).retry_after(seconds)
    }

    /// Returns 404: nothing is served at the path.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "nothing is served at this path")
    }

    /// Returns 500: the host failed.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the call failed; the log has the reason under the request id",
        )
    }

    /// Returns 503: the service cannot answer now.
    pub fn unavailable(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// Adds `Retry-After`.
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Writes the error into the response that carries it; keeps the response's headers.
    pub fn write(&self, mut response: Response, path: &str, now: SystemTime) -> Response {
        let body = json!({
            "timestamp": rfc3339_millis(now),
            "status": self.status.as_u16(),
            "error": self.status.canonical_reason().unwrap_or("Error"),
            "path": path,
            "code": self.code,
            "message": self.message,
        });
        *response.body_mut() = Body::from(body.to_string());
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.write_headers(headers);
        response
    }

    fn write_headers(&self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.authenticate {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
    }
}

/// Responds with the status and carries the error as an extension, for the layer that knows the path.
impl IntoResponse for CaptchaApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<CaptchaCallError> for CaptchaApiError {
    fn from(error: CaptchaCallError) -> Self {
        match error {
            CaptchaCallError::Denied => Self::new(
                StatusCode::FORBIDDEN,
                "client-denied",
                "the client's address is on the site's denied_source_addresses",
            ),
            CaptchaCallError::Malformed(text) => {
                Self::bad_request("invalid-payload", format!("payload refused: {text}"))
            }
            CaptchaCallError::Busy { retry_after_seconds } => {
                Self::unavailable("busy", "the service cannot answer now; ask again")
                    .retry_after(retry_after_seconds)
            }
            CaptchaCallError::Unavailable { code, reason, retry_after_seconds } => {
                Self { retry_after: retry_after_seconds, ..Self::unavailable(code, reason) }
            }
            CaptchaCallError::Failed(outcome) => outcome.into(),
            CaptchaCallError::Internal => Self::internal(),
        }
    }
}

impl From<Outcome> for CaptchaApiError {
    fn from(outcome: Outcome) -> Self {
        let code = outcome.as_str();
        match outcome {
            Outcome::Trap | Outcome::MemoryLimit | Outcome::ResponseTooLarge | Outcome::BadAnswer => {
                Self { code, ..Self::internal() }
            }
            Outcome::CpuBudget => Self::unavailable(code, "the call needed more processor time than it may")
                .retry_after(RETRY_AFTER_SECONDS),
            Outcome::Overloaded => {
                Self::unavailable(code, "too many calls are waiting").retry_after(RETRY_AFTER_SECONDS)
            }
            Outcome::Deadline => Self::new(StatusCode::GATEWAY_TIMEOUT, code, "the call took too long"),
            // The service answers a guest's error before this, and a cancelled call has no client.
            Outcome::Ok | Outcome::GuestError | Outcome::Cancelled => Self::internal(),
        }
    }
}

impl From<BodyError> for CaptchaApiError {
    fn from(error: BodyError) -> Self {
        let answer = error.answer();
        Self::new(answer.status, answer.code, answer.message)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::time::{Duration, UNIX_EPOCH};

    use axum::body::to_bytes;

    use super::*;

    async fn written(error: CaptchaApiError) -> (Response<()>, serde_json::Value) {
        let now = UNIX_EPOCH + Duration::from_secs(1_786_181_499);
        let response = error.clone().into_response();
        let (parts, body) = error.write(response, "/api/v1/captcha/verify", now).into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (Response::from_parts(parts, ()), serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn body_has_springs_members_and_more() {
        let (response, body) = written(CaptchaApiError::wrong_credentials()).await;
        assert_eq!(response.status(), 401);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        assert_eq!(
            body,
            json!({
                "timestamp": "2026-08-08T09:31:39.000Z", "status": 401, "error": "Unauthorized",
                "path": "/api/v1/captcha/verify", "code": "wrong-credentials",
                "message": "wrong credentials",
            })
        );
    }

    #[tokio::test]
    async fn retry_time_becomes_a_header() {
        let busy = CaptchaCallError::Busy { retry_after_seconds: 7 };
        let (response, _) = written(busy.into()).await;
        assert_eq!(response.headers()[header::RETRY_AFTER], "7");
        assert!(!response.headers().contains_key(header::WWW_AUTHENTICATE));
    }

    #[test]
    fn every_outcome_maps_to_a_status() {
        for (outcome, status, code, retries) in [
            (Outcome::Trap, 500, "trap", false),
            (Outcome::MemoryLimit, 500, "memory-limit", false),
            (Outcome::ResponseTooLarge, 500, "response-too-large", false),
            (Outcome::BadAnswer, 500, "bad-answer", false),
            (Outcome::CpuBudget, 503, "cpu-budget", true),
            (Outcome::Overloaded, 503, "overloaded", true),
            (Outcome::Deadline, 504, "deadline", false),
            (Outcome::Cancelled, 500, "internal", false),
        ] {
            let error = CaptchaApiError::from(outcome);
            assert_eq!(
                (error.status.as_u16(), error.code, error.retry_after.is_some()),
                (status, code, retries)
            );
        }
    }
}
