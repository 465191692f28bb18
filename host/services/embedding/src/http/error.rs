//! Errors of the service: status, code and sentence. The module `error_form` puts them into the form of a route.

use std::borrow::Cow;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bulkhead_http::{access_log::Served, body::BodyError, error::HostError, forwarded::Contradicting};
use bulkhead_models::{InferenceError, config::ErrorForm};
use bulkhead_telemetry::quoted;
use serde_json::{Value, json};

/// The service's name in logs and metrics.
pub const SERVICE: &str = "embedding";

/// Members of a body on a route with errors in the shape of OpenAI, in the order in which a reason is searched for them.
const PARAMETERS: [&str; 9] = [
    "encoding_format",
    "dimensions",
    "prompt_name",
    "input",
    "model",
    "query",
    "documents",
    "texts",
    "top_n",
];

/// Seconds after which a client may retry where nothing is known of when it will succeed.
const RETRY_AFTER_SECONDS: u32 = 1;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingApiError {
    status: StatusCode,
    code: &'static str,
    message: Cow<'static, str>,
    /// The member of the body that is wrong, if one is.
    parameter: Option<&'static str>,
    retry_after: Option<u32>,
}

impl EmbeddingApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), parameter: None, retry_after: None }
    }

    /// 400: the request is invalid.
    pub fn invalid(reason: impl std::fmt::Display) -> Self {
        let reason = reason.to_string();
        let parameter = PARAMETERS.into_iter().find(|name| reason.starts_with(name));
        let parameter = parameter.or_else(|| PARAMETERS.into_iter().find(|name| reason.contains(name)));
        let error =
            Self::new(StatusCode::BAD_REQUEST, "invalid_request", format!("invalid request: {reason}"));
        Self { parameter, ..error }
    }

    /// 400: the proxies' headers contradict each other.
    pub fn contradicting_forwarded() -> Self {
        Self::new(StatusCode::BAD_REQUEST, Contradicting::CODE, Contradicting::MESSAGE)
    }

    /// 400: a body names a model that is not loaded. `repack` is the id of a loaded re-pack of it.
    pub(crate) fn unknown_model(id: &str, repack: Option<&str>) -> Self {
        let message = format!("model not found: {}", not_loaded(id, repack));
        let error = Self::new(StatusCode::BAD_REQUEST, "model_not_found", message);
        Self { parameter: Some("model"), ..error }
    }

    /// 401: the caller has none of the keys.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "unauthorized")
    }

    /// 404: a path names a model that is not loaded.
    pub(crate) fn no_such_path(segment: &str) -> Self {
        let segment = quoted(segment);
        let message = format!("no model is served at /tei/{segment}; GET /v1/models lists the models");
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 404: no model has this id. `repack` is the id of a loaded re-pack of it.
    pub(crate) fn no_such_model(id: &str, repack: Option<&str>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", not_loaded(id, repack))
    }

    /// 413: the answer would be too large.
    pub(super) fn too_large(message: String) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", message)
    }

    /// 429: clients have not yet read the responses that they asked for.
    pub fn unread() -> Self {
        let message = "too many answers with tokens are being made or not read yet; ask again";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message).retry_after(RETRY_AFTER_SECONDS)
    }

    /// 503: something that is needed is not available; a retry will not help soon.
    pub fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", message)
    }

    /// Returns the error with `name` in place of `input {index}` at its beginning.
    pub(super) fn naming_input(self, index: usize, name: &str) -> Self {
        let rest = self.message.strip_prefix(&format!("invalid request: input {index}"));
        let rest = rest.filter(|rest| rest.starts_with([' ', ':']));
        match rest.map(|rest| format!("invalid request: {name}{rest}")) {
            Some(message) => Self { message: message.into(), ..self },
            None => self,
        }
    }

    fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// Returns the body with the code in `error`, or with the sentence there, as text-embeddings-inference has it.
    pub(super) fn flat(&self, form: ErrorForm) -> Value {
        let (code, message, kind) = (self.code, &self.message, tei_kind(self.status));
        let errors = [json!({ "message": message })];
        match form {
            ErrorForm::Code => {
                json!({ "error": code, "message": message, "error_type": kind, "errors": errors })
            }
            ErrorForm::Sentence => {
                json!({ "error": message, "message": message, "error_type": kind, "errors": errors, "code": code })
            }
        }
    }

    /// Returns the body as OpenAI has it.
    pub(super) fn nested(&self) -> Value {
        json!({ "error": {
            "message": self.message,
            "type": openai_kind(self.status),
            "param": self.parameter,
            "code": self.code,
        } })
    }
}

/// Returns that no model with this id is loaded, and what a client can name instead.
fn not_loaded(id: &str, repack: Option<&str>) -> String {
    let id = quoted(id);
    let remedy = match repack {
        Some(repack) => format!(
            "its 4-bit re-pack `{repack}` is: name that, or accept it under this id with embedding.aliases = \
             [\"{repack}={id}\"]"
        ),
        None => "GET /v1/models lists them".to_owned(),
    };
    format!("no model with id `{id}` is loaded; {remedy}")
}

/// Returns what text-embeddings-inference calls an error of this status.
fn tei_kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        429 => "Overloaded",
        503 => "Unhealthy",
        500.. => "Backend",
        _ => "Validation",
    }
}

/// Returns what OpenAI calls an error of this status.
fn openai_kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

impl IntoResponse for EmbeddingApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.flat(ErrorForm::Code))).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let error = self.status.is_server_error().then_some(self.code);
        response.extensions_mut().insert(Served { service: SERVICE, error });
        // For the form of the route.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<HostError> for EmbeddingApiError {
    fn from(error: HostError) -> Self {
        Self::new(error.status, error.code, error.message)
    }
}

impl From<BodyError> for EmbeddingApiError {
    fn from(error: BodyError) -> Self {
        let answer = error.answer();
        let code = match error {
            BodyError::Gone | BodyError::Invalid => "invalid_request",
            BodyError::TooLarge { .. } => "payload_too_large",
            BodyError::Timeout => "request_timeout",
            BodyError::UnsupportedMediaType | BodyError::UnsupportedEncoding => "unsupported_media_type",
        };
        Self::new(answer.status, code, answer.message)
    }
}

impl From<InferenceError> for EmbeddingApiError {
    fn from(error: InferenceError) -> Self {
        match error {
            InferenceError::Invalid(reason) => Self::invalid(reason),
            InferenceError::Overloaded { retry_after } | InferenceError::Quota { retry_after } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", error.to_string())
                    .retry_after(retry_after)
            }
            InferenceError::Deadline { retry_after } => {
                let message = format!(
                    "others were before this request for longer than embedding.request_timeout_seconds; ask again in \
                     {retry_after} s"
                );
                Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message).retry_after(retry_after)
            }
            InferenceError::TooLarge { .. } | InferenceError::TooManyTerms { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", error.to_string())
            }
            InferenceError::Stopped => {
                Self::unavailable("the host is stopping").retry_after(RETRY_AFTER_SECONDS)
            }
            InferenceError::Internal => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal_error",
                "inference failed; the log has the reason under the request id",
            ),
        }
    }
}
