//! Answers of the host in place of an app: `{"error":"<code>","message":"<text>"}`.

use axum::{
    Json,
    http::{
        HeaderValue, StatusCode,
        header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use bulkhead_http::forwarded::Contradicting;
use bulkhead_runtime::{
    invoke::{CallError, CallFailure, Outcome},
    slots::SlotUnavailable,
};

/// An answer of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AppError {
    status: StatusCode,
    code: &'static str,
    message: &'static str,
    /// Seconds after which to ask again.
    retry_after: Option<u32>,
}

const fn error(status: StatusCode, code: &'static str, message: &'static str) -> AppError {
    AppError { status, code, message, retry_after: None }
}

impl AppError {
    /// The proxies' headers contradict each other.
    pub(super) const CONTRADICTING: Self =
        error(StatusCode::BAD_REQUEST, Contradicting::CODE, Contradicting::MESSAGE);
    /// The target of the request is not a path.
    pub(super) const BAD_TARGET: Self = error(
        StatusCode::BAD_REQUEST,
        "bad-target",
        "the request names no path and no host that can be used",
    );
    /// The caller has none of the app's keys.
    pub(super) const UNAUTHORIZED: Self =
        error(StatusCode::UNAUTHORIZED, "unauthorized", "this app needs a key: Authorization: Bearer KEY");
    /// The client asks for another protocol.
    pub(super) const UPGRADE: Self = error(
        StatusCode::NOT_IMPLEMENTED,
        "upgrade-not-offered",
        "apps speak HTTP only; connections cannot be upgraded",
    );
    /// The guest has given an error in place of a response.
    pub(super) const GUEST: Self =
        error(StatusCode::INTERNAL_SERVER_ERROR, "guest-error", "the app has reported an error of its own");
    /// A defect of the host.
    pub(super) const INTERNAL: Self =
        error(StatusCode::INTERNAL_SERVER_ERROR, "internal-error", "the host failed, its log says why");

    /// The request's body is too large.
    pub(super) const fn body_too_large() -> Self {
        error(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body-too-large",
            "the request body has more bytes than the app's body_bytes allows",
        )
    }

    /// Returns the name of the fault for logs and metrics; `None` for a fault of the client.
    pub(super) fn fault(&self) -> Option<&'static str> {
        self.status.is_server_error().then_some(self.code)
    }

    fn of(outcome: Outcome) -> Self {
        let (status, message) = match outcome {
            Outcome::CpuBudget => {
                (StatusCode::SERVICE_UNAVAILABLE, "the app needs more processor time than its cpu_ms allows")
            }
            Outcome::Overloaded => {
                (StatusCode::SERVICE_UNAVAILABLE, "the app has too many requests; ask again later")
            }
            Outcome::Deadline => (StatusCode::GATEWAY_TIMEOUT, "the app did not respond in time"),
            Outcome::MemoryLimit => {
                (StatusCode::INTERNAL_SERVER_ERROR, "the app needs more memory than its memory_bytes allows")
            }
            Outcome::ResponseTooLarge => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "the response is larger than the app's response_bytes allows",
            ),
            Outcome::BadAnswer => (StatusCode::INTERNAL_SERVER_ERROR, "the app gave no response"),
            Outcome::Cancelled => (StatusCode::BAD_REQUEST, "the request body has ended before its end"),
            Outcome::Ok | Outcome::GuestError | Outcome::Trap => {
                (StatusCode::INTERNAL_SERVER_ERROR, "the app failed")
            }
        };
        error(status, outcome.as_str(), message)
    }
}

impl From<CallError> for AppError {
    fn from(failed: CallError) -> Self {
        let unavailable = |code, message| error(StatusCode::SERVICE_UNAVAILABLE, code, message);
        match failed {
            CallError::Unavailable(reason) => {
                let (code, message) = match reason {
                    SlotUnavailable::Starting { .. } => {
                        ("starting", "the app's component is not ready yet; ask again")
                    }
                    SlotUnavailable::Empty { .. } => {
                        ("app-empty", "the app has no component that may answer; /health/ready says why")
                    }
                    SlotUnavailable::CircuitOpen { .. } => {
                        ("circuit-open", "the app has failed too often; ask again later")
                    }
                };
                Self { retry_after: reason.retry_after_seconds(), ..unavailable(code, message) }
            }
            CallError::Failed(CallFailure { outcome, retry_after }) => {
                let seconds = retry_after.map(|after| u32::try_from(after.as_secs()).unwrap_or(u32::MAX));
                Self { retry_after: seconds.map(|seconds| seconds.max(1)), ..Self::of(outcome) }
            }
        }
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let body = Json(serde_json::json!({ "error": self.code, "message": self.message }));
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
