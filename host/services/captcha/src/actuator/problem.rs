//! Errors of the endpoints, in the captcha service's shape.

use std::time::SystemTime;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, Uri, header::ALLOW},
    response::{IntoResponse, Response},
};
use bulkhead_telemetry::timestamp::rfc3339_millis;
use serde_json::json;

/// An error answer.
#[derive(Debug)]
pub(super) struct ActuatorProblem {
    status: StatusCode,
    code: &'static str,
    message: String,
    path: String,
}

impl ActuatorProblem {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>, uri: &Uri) -> Self {
        Self { status, code, message: message.into(), path: uri.path().to_owned() }
    }

    pub(super) fn not_acceptable(uri: &Uri, offers: &[&str]) -> Self {
        let message = format!("ask for one of: {}", offers.join(", "));
        Self::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", message, uri)
    }

    pub(super) fn bad_request(uri: &Uri, message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message, uri)
    }
}

impl IntoResponse for ActuatorProblem {
    fn into_response(self) -> Response {
        let body = json!({
            "timestamp": rfc3339_millis(SystemTime::now()),
            "status": self.status.as_u16(),
            "error": self.status.canonical_reason().unwrap_or_default(),
            "path": self.path,
            "code": self.code,
            "message": self.message,
        });
        (self.status, Json(body)).into_response()
    }
}

/// Answers 404: the path has no endpoint.
pub(super) async fn not_found(uri: Uri) -> ActuatorProblem {
    let message = "there is no such endpoint, or it is not exposed";
    ActuatorProblem::new(StatusCode::NOT_FOUND, "not_found", message, &uri)
}

/// Answers 405: the method is not GET or HEAD.
pub(super) async fn method_not_allowed(uri: Uri) -> Response {
    let message = "only GET and HEAD are allowed here";
    let problem = ActuatorProblem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message, &uri);
    let mut response = problem.into_response();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}
