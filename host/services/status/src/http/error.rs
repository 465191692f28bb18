//! What a client sees when a call fails: the replaced server's envelope without its stack trace.

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

use crate::CallError;

/// A client may ask again after this many seconds.
const RETRY_AFTER_SECONDS: u32 = 1;
/// The same while the database does not answer.
const DATABASE_RETRY_SECONDS: u32 = 5;

/// A refusal or failure. It becomes a body only in the layer that knows the client's address of this server.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// HTTP status.
    pub status: StatusCode,
    /// A stable name for logs.
    pub code: &'static str,
    /// The class by whose name clients of the replaced server know the case.
    pub exception: Option<&'static str>,
    /// A text for people.
    pub message: Cow<'static, str>,
    /// `data`, else null.
    pub data: Option<Value>,
    /// `Retry-After`, seconds.
    pub retry_after: Option<u32>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, exception: None, message: message.into(), data: None, retry_after: None }
    }

    fn class(self, exception: &'static str) -> Self {
        Self { exception: Some(exception), ..self }
    }

    fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// 404.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "could not find a resource at this path")
    }

    /// 405.
    pub fn wrong_method() -> Self {
        let message = "this path does not take this method; see the header allow";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", message)
            .class(r"Slim\Exception\HttpMethodNotAllowedException")
    }

    /// 400: `includeProcessStats` is neither 0 nor 1.
    pub fn bad_statistics() -> Self {
        let message = "includeProcessStats must be 1 (the default) or 0";
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
            .class(r"BO\Zmsbackend\Exception\BadRequest")
    }

    /// 400: `format` is neither text nor json.
    pub fn bad_format() -> Self {
        let message = "format must be text (the default) or json";
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
            .class(r"BO\Zmsbackend\Exception\BadRequest")
    }

    /// 400: the query is no query.
    pub fn bad_query() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "the query is not form-encoded text")
            .class(r"BO\Zmsbackend\Exception\BadRequest")
    }

    /// 400: the selection is none.
    pub fn bad_selection(message: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-selection", message)
            .class(r"BO\Zmsclient\GraphQL\GraphQLException")
    }

    /// 400: the proxies' headers contradict each other.
    pub fn contradicting_forwarded() -> Self {
        Self::new(StatusCode::BAD_REQUEST, Contradicting::CODE, Contradicting::NAMED_MESSAGE)
            .class(r"BO\Zmsbackend\Exception\BadRequest")
    }

    /// 401: neither a token nor a session.
    pub fn unauthenticated() -> Self {
        let message = "Authentication failed - access to status not granted";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .class(r"BO\Zmsbackend\Status\Exception\StatusAuthenticationFailed")
    }

    /// 401: no such user, or not the password; which of the two stays unsaid.
    pub fn wrong_credentials() -> Self {
        let texts = json!({ "password": { "messages": ["Der Nutzername oder das Passwort ist falsch."] } });
        let error = Self::new(StatusCode::UNAUTHORIZED, "wrong-credentials", "the credentials are invalid")
            .class(r"BO\Zmsbackend\Useraccount\Exception\InvalidCredentials");
        Self { data: Some(texts), ..error }
    }

    /// 429: too many wrong credentials.
    pub fn too_many_attempts(seconds: u32) -> Self {
        let message = "too many failed logins; ask again later or use a token";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", message).retry_after(seconds)
    }

    /// 500.
    pub fn internal() -> Self {
        let message = "the call failed; the log has the reason under the request id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    fn unavailable(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// 503: the database gives no answer; what it says stays in the log.
    fn no_database() -> Self {
        let message = "the appointment system's database does not answer";
        Self::unavailable("database", message)
            .class(r"BO\Zmsbackend\Exception\Pdo\PDOFailed")
            .retry_after(DATABASE_RETRY_SECONDS)
    }
}

/// A bare status with the error beside it, for the layer that writes the envelope.
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
            CallError::Unknown => Self::no_database(),
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

impl From<CollectError> for ApiError {
    fn from(error: CollectError) -> Self {
        tracing::warn!(%error, "an account cannot be looked up");
        Self::no_database()
    }
}

impl From<PowError> for ApiError {
    fn from(_: PowError) -> Self {
        Self::unavailable("busy", "too many passwords are being compared; ask again")
            .retry_after(RETRY_AFTER_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_databases_stay_inside() {
        let words = "Table 'zms.buerger' doesn't exist".to_owned();
        for error in [CollectError::Unreachable(words.clone()), CollectError::Schema(words.clone())] {
            let error = ApiError::from(error);
            assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
            assert!(!error.message.contains("buerger") && error.data.is_none(), "{error:?}");
        }
    }

    #[test]
    fn an_open_circuit_says_when_it_closes() {
        for retry_after_seconds in [Some(42), None] {
            let error =
                ApiError::from(CallError::Empty { reason: "circuit open".into(), retry_after_seconds });
            assert_eq!(
                (error.status, error.retry_after),
                (StatusCode::SERVICE_UNAVAILABLE, retry_after_seconds)
            );
        }
    }
}
