//! Errors of `/v1`: `{"error":"<code>","message":"<text>"}`, with `slot` where the current state helps and `version`
//! where the error is about one.

use axum::{
    Json,
    http::{
        HeaderValue, StatusCode,
        header::{RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use bulkhead_config::tokens::Scope;
use bulkhead_http::body::BodyError;
use bulkhead_registry::{Fault, PullError};
use bulkhead_rollout::{DeployError, DeploymentRegistry, LocalStoreError, ReloadError, SlotView};
use bulkhead_telemetry::quoted;
use serde_json::{Value, json};

use super::MAX_JOBS;

/// When to retry while the shared database is unreachable: the host pauses its own attempts for so long.
const UNREACHABLE_RETRY_SECONDS: u32 = 5;

/// An error of the API.
#[derive(Debug)]
pub(super) struct AdminApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    slot: Option<Box<SlotView>>,
    version: Option<String>,
    retry_after: Option<u32>,
    /// The name of the token, if it is a known one: for the log.
    actor: Option<String>,
}

impl AdminApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, code, message, slot: None, version: None, retry_after: None, actor: None }
    }

    #[cfg(test)]
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn actor(&self) -> Option<&str> {
        self.actor.as_deref()
    }

    pub(super) const fn code(&self) -> &'static str {
        self.code
    }

    pub(super) fn no_tokens() -> Self {
        let text = "no operator's token is configured; create one with `bulkhead admin token NAME`";
        Self::new(StatusCode::UNAUTHORIZED, "no-tokens", text)
    }

    pub(super) fn unauthorized() -> Self {
        let text = "send an operator's token as `Authorization: Bearer`";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", text)
    }

    pub(super) fn unknown_token() -> Self {
        let text = "this host does not know the token: it is mistyped, belongs to another host, or its hash is no longer in \
                    admin.tokens";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", text)
    }

    pub(super) fn forbidden(name: &str, has: Scope, needed: Scope) -> Self {
        let text =
            format!("the token's scope is {}, but this request needs {}", has.as_str(), needed.as_str());
        Self { actor: Some(name.to_owned()), ..Self::new(StatusCode::FORBIDDEN, "forbidden", text) }
    }

    pub(super) fn too_many(seconds: u32) -> Self {
        let text = "too many wrong tokens from this address";
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", text) }
    }

    pub(super) fn token_in_url() -> Self {
        let text = "a token in a URL ends up in logs; revoke it and send tokens as `Authorization: Bearer`";
        Self::new(StatusCode::BAD_REQUEST, "token-in-url", text)
    }

    pub(super) fn invalid(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-request", text)
    }

    pub(super) fn unknown_slot(deployments: &DeploymentRegistry, name: &str) -> Self {
        let names: Vec<_> = deployments.all().iter().map(|slot| slot.slot().as_str()).collect();
        let text = format!("slot {} is not in use; the slots are {}", quoted(name), names.join(", "));
        Self::new(StatusCode::NOT_FOUND, "unknown-slot", text)
    }

    pub(super) fn starting() -> Self {
        let text = "the host is starting, and this slot is not ready yet";
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "starting", text) }
    }

    pub(super) fn receiving() -> Self {
        Self::busy("other components are being received")
    }

    pub(super) fn sending() -> Self {
        Self::busy("other components are being sent")
    }

    fn busy(text: &str) -> Self {
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", text) }
    }

    pub(super) fn unknown_job() -> Self {
        let text = format!(
            "this host has no such job; it keeps the last {MAX_JOBS} and loses them at a restart; see the slot's history"
        );
        Self::new(StatusCode::NOT_FOUND, "unknown-job", text)
    }

    /// Returns the error for a component that could not be read from the request.
    pub(super) fn unread_component(error: BodyError) -> Self {
        let answer = Self::from(error);
        match error {
            BodyError::TooLarge { bytes, .. } => {
                let message = format!(
                    "the component has more than {bytes} bytes; make it smaller or raise sandbox.component_bytes"
                );
                Self { message, ..answer }
            }
            _ => answer,
        }
    }

    pub(super) fn stopping() -> Self {
        DeployError::Stopping.into()
    }

    fn body(&self) -> Value {
        let mut body = json!({ "error": self.code, "message": self.message });
        if let Some(members) = body.as_object_mut() {
            members.extend(self.slot.as_ref().map(|slot| ("slot".to_owned(), json!(slot))));
            members.extend(self.version.as_ref().map(|version| ("version".to_owned(), json!(version))));
        }
        body
    }

    /// Returns the body with its status, for the progress of a job.
    pub(super) fn to_json(&self) -> Value {
        let mut body = self.body();
        if let Some(members) = body.as_object_mut() {
            members.insert("status".to_owned(), self.status.as_u16().into());
        }
        body
    }
}

impl From<DeployError> for AdminApiError {
    fn from(error: DeployError) -> Self {
        let status = match &error {
            DeployError::UnknownVersion { .. } | DeployError::Removed(_) => StatusCode::NOT_FOUND,
            DeployError::Refused { .. } | DeployError::Uncompiled { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            DeployError::Storage(LocalStoreError::Io(..)) => StatusCode::INSUFFICIENT_STORAGE,
            DeployError::Storage(LocalStoreError::Damaged(..) | LocalStoreError::File(_))
            | DeployError::StateUnreadable(_) => StatusCode::INTERNAL_SERVER_ERROR,
            DeployError::Stopping | DeployError::StateUnreachable(_) => StatusCode::SERVICE_UNAVAILABLE,
            DeployError::Conflict { .. }
            | DeployError::ConcurrentChange
            | DeployError::Storage(LocalStoreError::Conflict(_))
            | DeployError::Untried(_)
            | DeployError::Answering(_)
            | DeployError::NoCandidate(_)
            | DeployError::NoShadow(_)
            | DeployError::OtherCandidate { .. }
            | DeployError::NoActive(_)
            | DeployError::NoPredecessor(_) => StatusCode::CONFLICT,
        };
        let answer = Self::new(status, error.code(), error.to_string());
        match error {
            DeployError::Conflict { slot, .. } => Self { slot: Some(slot), ..answer },
            DeployError::StateUnreachable(_) => {
                Self { retry_after: Some(UNREACHABLE_RETRY_SECONDS), ..answer }
            }
            DeployError::Refused { version, .. }
            | DeployError::Uncompiled { version, .. }
            | DeployError::Untried(version)
            | DeployError::Answering(version)
            | DeployError::OtherCandidate { version, .. } => {
                Self { version: Some(version.to_string()), ..answer }
            }
            _ => answer,
        }
    }
}

impl From<ReloadError> for AdminApiError {
    fn from(error: ReloadError) -> Self {
        let text = error.to_string();
        match error {
            ReloadError::Unsound(_) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unsound-configuration", text)
            }
            ReloadError::NoSource => Self::new(StatusCode::CONFLICT, "no-configuration", text),
            ReloadError::NoPredecessor => Self::new(StatusCode::CONFLICT, "no-predecessor", text),
            ReloadError::Slot { error, .. } => Self { message: text, ..error.into() },
            ReloadError::Storage(error) => error.into(),
            ReloadError::Starting => Self { message: text, ..Self::starting() },
            ReloadError::Stopping => Self::stopping(),
        }
    }
}

impl From<LocalStoreError> for AdminApiError {
    fn from(error: LocalStoreError) -> Self {
        DeployError::from(error).into()
    }
}

impl From<PullError> for AdminApiError {
    fn from(error: PullError) -> Self {
        let status = match &error.fault {
            Fault::NotAllowed(_) => StatusCode::FORBIDDEN,
            Fault::NotFound => StatusCode::NOT_FOUND,
            Fault::TooLarge(..) => StatusCode::PAYLOAD_TOO_LARGE,
            Fault::MediaType(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Fault::Settings(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Fault::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Fault::Storage(_) => StatusCode::INSUFFICIENT_STORAGE,
            Fault::Unreachable(_)
            | Fault::Denied(_)
            | Fault::WrongLogin { .. }
            | Fault::ForeignRealm(_)
            | Fault::Redirect { .. }
            | Fault::RedirectLoop
            | Fault::DigestMismatch { .. }
            | Fault::Malformed(_) => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, error.code(), error.to_string())
    }
}

impl From<BodyError> for AdminApiError {
    fn from(error: BodyError) -> Self {
        let answer = error.answer();
        Self::new(answer.status, answer.code, answer.message)
    }
}

impl IntoResponse for AdminApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"bulkhead\""));
        }
        response
    }
}
