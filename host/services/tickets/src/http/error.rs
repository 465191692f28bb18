//! Error responses of the ticket service: `{"detail": ...}` with a text, an object, or a list of violations.

use std::borrow::Cow;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bulkhead_http::{access_log::Served, body::BodyError, forwarded::Contradicting};
use bulkhead_runtime::invoke::{CallError, CallFailure, Outcome};
use bulkhead_runtime::slots::SlotUnavailable;
use serde_json::{Value, json};

use super::{SERVICE, session};
use crate::answer::AnswerError;
use crate::triage::TriageError;

/// Seconds after which a client may retry after an empty slot or an overload.
const RETRY_AFTER: u32 = 5;

/// A violation of a request body, in the form of FastAPI.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyViolation {
    /// FastAPI's type of the violation: `missing`, `string_type`, `json_invalid`, ...
    pub kind: &'static str,
    /// The location: `["body", "text"]`.
    pub location: Vec<Value>,
    /// The message for people.
    pub message: String,
    /// The invalid input.
    pub input: Value,
}

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct TicketApiError {
    status: StatusCode,
    detail: Detail,
    retry_after: Option<u32>,
    /// The session of the request, if it is known.
    session: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Detail {
    Text(&'static str),
    Typed { error: &'static str, message: Cow<'static, str>, retryable: bool },
    Violations(Vec<BodyViolation>),
}

impl TicketApiError {
    /// 401: the caller does not have the key.
    pub const UNAUTHORIZED: Self = Self::new(StatusCode::UNAUTHORIZED, Detail::Text("Unauthorized"));
    /// 404: no route has this path.
    pub const NOT_FOUND: Self = Self::new(StatusCode::NOT_FOUND, Detail::Text("Not Found"));
    /// 405: the route has another method.
    pub const METHOD_NOT_ALLOWED: Self =
        Self::new(StatusCode::METHOD_NOT_ALLOWED, Detail::Text("Method Not Allowed"));

    /// 400: the proxies' headers contradict each other.
    pub fn contradicting_forwarded() -> Self {
        Self::typed(StatusCode::BAD_REQUEST, "InvalidRequestError", Contradicting::NAMED_MESSAGE, false)
    }

    const fn new(status: StatusCode, detail: Detail) -> Self {
        Self { status, detail, retry_after: None, session: None }
    }

    fn typed(
        status: StatusCode,
        error: &'static str,
        message: impl Into<Cow<'static, str>>,
        retryable: bool,
    ) -> Self {
        Self::new(status, Detail::Typed { error, message: message.into(), retryable })
    }

    /// Returns the error with the session of the request.
    pub fn in_session(self, session: impl Into<Option<String>>) -> Self {
        Self { session: session.into(), ..self }
    }

    /// 503: something that is needed is not available.
    pub fn unavailable(error: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        let answer = Self::typed(StatusCode::SERVICE_UNAVAILABLE, error, message, true);
        Self { retry_after: Some(RETRY_AFTER), ..answer }
    }

    /// 503: something that is needed is not configured, so a retry would not help.
    fn unconfigured(error: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::typed(StatusCode::SERVICE_UNAVAILABLE, error, message, false)
    }

    /// 422: the request violates its schema.
    pub const fn violations(violations: Vec<BodyViolation>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, Detail::Violations(violations))
    }

    /// Returns the response to a failed call of `slot`; `error` is the service's name of the error.
    fn call(error: &'static str, slot: &'static str, failed: CallError) -> Self {
        match failed {
            CallError::Unavailable(reason) => {
                let is_starting = matches!(reason, SlotUnavailable::Starting { .. });
                let error = if is_starting { reason.code() } else { error };
                let answer = Self::unavailable(error, reason.to_string());
                Self { retry_after: reason.retry_after_seconds().or(answer.retry_after), ..answer }
            }
            CallError::Failed(failure) => Self::failed(error, slot, &failure),
        }
    }

    /// Returns the response to a call that the sandbox ended. Overload and timeouts are retryable, limits and traps are not.
    fn failed(error: &'static str, slot: &'static str, failure: &CallFailure) -> Self {
        match failure.outcome {
            Outcome::Overloaded => {
                let answer = Self::unavailable(error, "too many tickets are waiting; ask again");
                let seconds = failure.retry_after.and_then(|wait| u32::try_from(wait.as_secs().max(1)).ok());
                Self { retry_after: seconds.or(answer.retry_after), ..answer }
            }
            Outcome::Deadline => {
                let message = format!("the ticket took longer than slots.{slot}.deadline_ms allows");
                Self::typed(StatusCode::GATEWAY_TIMEOUT, error, message, true)
            }
            Outcome::CpuBudget => Self::permanent(format!(
                "the ticket needs more processor time than slots.{slot}.cpu_ms allows"
            )),
            Outcome::MemoryLimit => {
                Self::permanent(format!("the ticket needs more memory than the limits of slots.{slot} allow"))
            }
            Outcome::ResponseTooLarge => {
                Self::permanent(format!("the answer is larger than slots.{slot}.response_bytes allows"))
            }
            // The services handle the guest's own errors, and a cancelled call has no client.
            Outcome::Trap | Outcome::BadAnswer | Outcome::Ok | Outcome::GuestError | Outcome::Cancelled => {
                Self::internal()
            }
        }
    }

    /// 500: the component failed.
    fn internal() -> Self {
        Self::permanent("Unexpected server error; the log has the reason under the request id")
    }

    /// 500: a retry would not help.
    fn permanent(message: impl Into<Cow<'static, str>>) -> Self {
        Self::typed(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", message, false)
    }
}

impl IntoResponse for TicketApiError {
    fn into_response(self) -> Response {
        let detail = match &self.detail {
            Detail::Text(text) => json!(text),
            Detail::Typed { error, message, retryable } => {
                json!({ "error": error, "message": message, "retryable": retryable })
            }
            Detail::Violations(violations) => violations
                .iter()
                .map(|BodyViolation { kind, location, message, input }| {
                    json!({ "type": kind, "loc": location, "msg": message, "input": input })
                })
                .collect(),
        };
        let mut response = (self.status, Json(json!({ "detail": detail }))).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(session) = &self.session {
            session::set_header(headers, session);
        }
        let error = match self.detail {
            Detail::Typed { error, .. } if self.status.is_server_error() => Some(error),
            _ => None,
        };
        response.extensions_mut().insert(Served { service: SERVICE, error });
        response
    }
}

impl From<BodyError> for TicketApiError {
    fn from(error: BodyError) -> Self {
        let answer = error.answer();
        match error {
            BodyError::TooLarge { .. } => {
                Self::typed(answer.status, "InputTooLongError", answer.message, false)
            }
            BodyError::Timeout => Self::typed(answer.status, "RequestTimeoutError", answer.message, true),
            BodyError::UnsupportedMediaType | BodyError::UnsupportedEncoding => {
                Self::typed(answer.status, "UnsupportedMediaTypeError", answer.message, false)
            }
            BodyError::Gone | BodyError::Invalid => {
                Self::typed(answer.status, "InvalidRequestError", answer.message, false)
            }
        }
    }
}

impl From<TriageError> for TicketApiError {
    fn from(error: TriageError) -> Self {
        match error {
            TriageError::Unconfigured => Self::unconfigured("TriageError", error.to_string()),
            TriageError::Refused(_) => {
                Self::typed(StatusCode::UNPROCESSABLE_ENTITY, "TriageError", error.to_string(), false)
            }
            TriageError::Guest(reason) => {
                tracing::error!(reason, "the triage component failed");
                Self::internal()
            }
            TriageError::Call(error) => Self::call("TriageError", "triage", error),
        }
    }
}

impl From<AnswerError> for TicketApiError {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Unconfigured => Self::unconfigured("AnswerServiceError", error.to_string()),
            AnswerError::UnknownAction(_) | AnswerError::Refused(_) => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                Self::typed(status, "ActionExecutionError", error.to_string(), false)
            }
            AnswerError::Unavailable(reason) => Self::unavailable("AnswerServiceError", reason),
            AnswerError::Guest(reason) => {
                tracing::error!(reason, "the answer component failed");
                Self::internal()
            }
            AnswerError::Call(error) => Self::call("AnswerServiceError", "answer", error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn unavailable_slot_sets_retry_after() {
        let answer =
            |unavailable| TicketApiError::from(TriageError::Call(CallError::Unavailable(unavailable)));
        let retry_after = Duration::from_millis(41_500);
        let open = answer(SlotUnavailable::CircuitOpen { slot: "triage", retry_after });
        assert_eq!((open.status, open.retry_after), (StatusCode::SERVICE_UNAVAILABLE, Some(42)));
        let Detail::Typed { message, .. } = &open.detail else { unreachable!("it is typed") };
        assert_eq!(message, "slot triage: circuit open, retry in 42 s");
        let empty = SlotUnavailable::Empty { slot: "triage", reason: "it was refused" };
        assert_eq!(answer(empty).retry_after, Some(RETRY_AFTER));
        let starting = answer(SlotUnavailable::Starting { slot: "triage" });
        let Detail::Typed { error, retryable, .. } = starting.detail else { unreachable!("it is typed") };
        assert_eq!((starting.retry_after, error, retryable), (Some(1), "starting", true));
    }

    #[test]
    fn temporary_failures_are_retryable() {
        for (outcome, status, error, retryable, retry_after) in [
            (Outcome::Overloaded, 503, "AnswerServiceError", true, Some(2)),
            (Outcome::Deadline, 504, "AnswerServiceError", true, None),
            (Outcome::CpuBudget, 500, "InternalServerError", false, None),
            (Outcome::MemoryLimit, 500, "InternalServerError", false, None),
            (Outcome::ResponseTooLarge, 500, "InternalServerError", false, None),
            (Outcome::Trap, 500, "InternalServerError", false, None),
            (Outcome::BadAnswer, 500, "InternalServerError", false, None),
            (Outcome::Ok, 500, "InternalServerError", false, None),
            (Outcome::GuestError, 500, "InternalServerError", false, None),
            (Outcome::Cancelled, 500, "InternalServerError", false, None),
        ] {
            let failure = CallFailure { outcome, retry_after: Some(Duration::from_secs(2)) };
            let answer = TicketApiError::from(AnswerError::Call(failure.into()));
            let Detail::Typed { error: found, retryable: is_retryable, .. } = answer.detail else {
                unreachable!("it is typed")
            };
            let answered = (answer.status.as_u16(), found, is_retryable, answer.retry_after);
            assert_eq!(answered, (status, error, retryable, retry_after), "{outcome:?}");
        }
    }

    #[test]
    fn missing_configuration_is_not_retryable() {
        for answer in
            [TicketApiError::from(TriageError::Unconfigured), TicketApiError::from(AnswerError::Unconfigured)]
        {
            assert_eq!((answer.status, answer.retry_after), (StatusCode::SERVICE_UNAVAILABLE, None));
            assert!(matches!(answer.detail, Detail::Typed { retryable: false, .. }), "{answer:?}");
        }
    }
}
