//! What a client sees when a call fails: one JSON shape for every status of the service's paths,
//! `{timestamp,status,error,path,code,message}`, after Spring Boot's default error body.

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

use crate::CallError;

/// A client may ask again after this many seconds when a call found no room or no time.
const RETRY_AFTER_SECONDS: u32 = 1;

/// A refusal or failure. It becomes a body only in [`ApiError::write`], which knows the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status.
    pub status: StatusCode,
    /// A stable name for programs.
    pub code: &'static str,
    /// A text for people.
    pub message: Cow<'static, str>,
    /// `Retry-After`, seconds.
    pub retry_after: Option<u32>,
    /// `WWW-Authenticate`.
    pub authenticate: Option<&'static str>,
}

impl ApiError {
    /// An error with nothing but a status, a code and a text.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), retry_after: None, authenticate: None }
    }

    /// 400: the request cannot be understood or lacks something.
    pub fn bad_request(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// 401: no such site, or not its secret; which of the two stays unsaid.
    pub fn wrong_credentials() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "wrong-credentials", "wrong credentials")
    }

    /// 429: too many calls, or too many wrong secrets.
    pub fn too_many(what: &'static str, seconds: u32) -> Self {
        let message = format!("too many {what}; try again in {seconds} s");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", message).retry_after(seconds)
    }

    /// 404: nothing is served here.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "nothing is served at this path")
    }

    /// 500: the host's own fault.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the call failed; the log has the reason under the request id",
        )
    }

    /// 503: no room at the moment.
    pub fn unavailable(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// The same error with `Retry-After`.
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Writes the error into the response that carried it; headers already there stay.
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

/// A bare status with the error beside it, for the layer that knows the path.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<CallError> for ApiError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Denied => Self::new(
                StatusCode::FORBIDDEN,
                "client-denied",
                "the client's address is on the site's denied_source_addresses",
            ),
            CallError::Malformed(text) => {
                Self::bad_request("invalid-payload", format!("payload refused: {text}"))
            }
            CallError::Busy { retry_after_seconds } => {
                Self::unavailable("busy", "the service cannot answer now; ask again")
                    .retry_after(retry_after_seconds)
            }
            CallError::Empty { reason, retry_after_seconds } => {
                Self { retry_after: retry_after_seconds, ..Self::unavailable("slot-empty", reason) }
            }
            CallError::Failed(outcome) => outcome.into(),
            CallError::Internal => Self::internal(),
        }
    }
}

impl From<Outcome> for ApiError {
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
            // The service itself answers a guest's error, and nobody hears of a cancelled call.
            Outcome::Ok | Outcome::GuestError | Outcome::Cancelled => Self::internal(),
        }
    }
}

impl From<BodyError> for ApiError {
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

    async fn written(error: ApiError) -> (Response<()>, serde_json::Value) {
        let now = UNIX_EPOCH + Duration::from_secs(1_786_181_499);
        let response = error.clone().into_response();
        let (parts, body) = error.write(response, "/api/v1/captcha/verify", now).into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (Response::from_parts(parts, ()), serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn the_body_has_springs_members_and_two_more() {
        let (response, body) = written(ApiError::wrong_credentials()).await;
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
    async fn headers_follow_the_error() {
        let busy = CallError::Busy { retry_after_seconds: 7 };
        let (response, _) = written(busy.into()).await;
        assert_eq!(response.headers()[header::RETRY_AFTER], "7");
        assert!(!response.headers().contains_key(header::WWW_AUTHENTICATE));
    }

    #[test]
    fn every_outcome_has_its_status() {
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
            let error = ApiError::from(outcome);
            assert_eq!(
                (error.status.as_u16(), error.code, error.retry_after.is_some()),
                (status, code, retries)
            );
        }
    }
}
