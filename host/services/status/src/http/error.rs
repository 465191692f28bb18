//! Error responses: the envelope of the replaced server, without its stack trace.

use std::borrow::Cow;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bulkhead_appointments::CollectError;
use bulkhead_http::forwarded::Contradicting;
use bulkhead_pow::PowError;
use bulkhead_runtime::invoke::Outcome;
use serde_json::{Value, json};

use crate::StatusError;

/// Seconds after which a client may retry.
const RETRY_AFTER_SECONDS: u32 = 1;
/// Seconds after which a client may retry while the database does not answer.
const DATABASE_RETRY_SECONDS: u32 = 5;

/// An error response. A layer that knows the URL of the server writes its body.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusApiError {
    /// HTTP status.
    pub status: StatusCode,
    /// A stable name for logs.
    pub code: &'static str,
    /// The exception class by which clients of the replaced server know the error.
    pub exception: Option<&'static str>,
    /// A text for people.
    pub message: Cow<'static, str>,
    /// The member `data`; `None` for null.
    pub data: Option<Value>,
    /// `Retry-After`, seconds.
    pub retry_after: Option<u32>,
}

impl StatusApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, exception: None, message: message.into(), data: None, retry_after: None }
    }

    fn class(self, exception: &'static str) -> Self {
        Self { exception: Some(exception), ..self }
    }

    fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// 404: no route has this path.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "could not find a resource at this path")
    }

    /// 405: the route has another method.
    pub fn wrong_method() -> Self {
        let message = "this path does not take this method; see the header allow";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", message)
            .class(r"Slim\Exception\HttpMethodNotAllowedException")
    }

    /// 400: `includeProcessStats` is neither 0 nor 1.
    pub(crate) fn bad_statistics() -> Self {
        let message = "includeProcessStats must be 1 (the default) or 0";
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
            .class(r"BO\Zmsbackend\Exception\BadRequest")
    }

    /// 400: `format` is neither text nor json.
    pub(crate) fn bad_format() -> Self {
        let message = "format must be text (the default) or json";
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
            .class(r"BO\Zmsbackend\Exception\BadRequest")
    }

    /// 400: the query is not form-encoded.
    pub(crate) fn bad_query() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "the query is not form-encoded text")
            .class(r"BO\Zmsbackend\Exception\BadRequest")
    }

    /// 400: the selection cannot be parsed.
    pub(crate) fn bad_selection(message: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-selection", message)
            .class(r"BO\Zmsclient\GraphQL\GraphQLException")
    }

    /// 400: the proxies' headers contradict each other.
    pub fn contradicting_forwarded() -> Self {
        Self::new(StatusCode::BAD_REQUEST, Contradicting::CODE, Contradicting::NAMED_MESSAGE)
            .class(r"BO\Zmsbackend\Exception\BadRequest")
    }

    /// 401: neither a token nor a session.
    pub(crate) fn unauthenticated() -> Self {
        let message = "Authentication failed - access to status not granted";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .class(r"BO\Zmsbackend\Status\Exception\StatusAuthenticationFailed")
    }

    /// 401: the user is unknown, or the password is wrong; the response does not say which.
    pub fn wrong_credentials() -> Self {
        let texts = json!({ "password": { "messages": ["Der Nutzername oder das Passwort ist falsch."] } });
        let error = Self::new(StatusCode::UNAUTHORIZED, "wrong-credentials", "the credentials are invalid")
            .class(r"BO\Zmsbackend\Useraccount\Exception\InvalidCredentials");
        Self { data: Some(texts), ..error }
    }

    /// 429: too many wrong credentials.
    pub(crate) fn too_many_attempts(seconds: u32) -> Self {
        let message = "too many failed logins; ask again later or use a token";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", message).retry_after(seconds)
    }

    /// 500: the component failed.
    pub fn internal() -> Self {
        let message = "the call failed; the log has the reason under the request id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    fn unavailable(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// 503: the database does not answer. Its error text stays in the log.
    fn no_database() -> Self {
        let message = "the appointment system's database does not answer";
        Self::unavailable("database", message)
            .class(r"BO\Zmsbackend\Exception\Pdo\PDOFailed")
            .retry_after(DATABASE_RETRY_SECONDS)
    }
}

/// Returns the status, with the error as an extension for the layer that writes the envelope.
impl IntoResponse for StatusApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StatusError> for StatusApiError {
    fn from(error: StatusError) -> Self {
        match error {
            StatusError::FiguresUnknown => Self::no_database(),
            StatusError::SlotUnavailable { code, reason, retry_after_seconds } => {
                Self { retry_after: retry_after_seconds, ..Self::unavailable(code, reason) }
            }
            StatusError::Failed(outcome) => outcome.into(),
            StatusError::Internal => Self::internal(),
        }
    }
}

impl From<Outcome> for StatusApiError {
    fn from(outcome: Outcome) -> Self {
        let code = outcome.as_str();
        match outcome {
            Outcome::CpuBudget | Outcome::Overloaded => {
                Self::unavailable(code, "the service cannot answer now; ask again")
                    .retry_after(RETRY_AFTER_SECONDS)
            }
            Outcome::Deadline => Self::new(StatusCode::GATEWAY_TIMEOUT, code, "the call took too long"),
            Outcome::Trap
            | Outcome::MemoryLimit
            | Outcome::ResponseTooLarge
            | Outcome::BadAnswer
            | Outcome::Ok
            | Outcome::GuestError
            | Outcome::Cancelled => Self { code, ..Self::internal() },
        }
    }
}

impl From<CollectError> for StatusApiError {
    fn from(error: CollectError) -> Self {
        tracing::warn!(%error, "an account cannot be looked up");
        Self::no_database()
    }
}

impl From<PowError> for StatusApiError {
    fn from(_: PowError) -> Self {
        Self::unavailable("busy", "too many passwords are being compared; ask again")
            .retry_after(RETRY_AFTER_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_texts_are_not_shown() {
        let words = "Table 'zms.buerger' doesn't exist".to_owned();
        for error in [CollectError::Unreachable(words.clone()), CollectError::Schema(words.clone())] {
            let error = StatusApiError::from(error);
            assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
            assert!(!error.message.contains("buerger") && error.data.is_none(), "{error:?}");
        }
    }

    #[test]
    fn open_circuit_sets_retry_after() {
        for retry_after_seconds in [Some(42), None] {
            let error = StatusApiError::from(StatusError::SlotUnavailable {
                code: "slot-empty",
                reason: "circuit open".into(),
                retry_after_seconds,
            });
            assert_eq!(
                (error.status, error.retry_after),
                (StatusCode::SERVICE_UNAVAILABLE, retry_after_seconds)
            );
        }
    }
}
