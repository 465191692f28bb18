//! Errors of requests to a running host.

use reqwest::StatusCode;
use serde_json::Value;

use super::URL_VARIABLE;

/// The code of the error that a version answers already.
const ANSWERING: &str = "answering";

/// Why the host did not do what a command asked for.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The host does not answer.
    #[error("no answer from {url}: {cause}; check that the host runs, and give --url or {URL_VARIABLE}")]
    Unreachable {
        /// The URL that was asked.
        url: String,
        /// The innermost cause.
        cause: String,
    },
    /// The host answers with an error.
    #[error("{message}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The code for programs.
        code: String,
        /// The text for people.
        message: String,
    },
}

impl RemoteError {
    /// Reads an error from its JSON. The error of a job has its status in there.
    pub fn from_json(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let status =
            error.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let message = text("message").unwrap_or_else(|| "the host gives no reason".to_owned());
        let code = text("error").unwrap_or_default();
        Self::Refused { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), code, message }
    }

    /// Returns whether an error says that a version answers already.
    pub fn is_answering(error: &anyhow::Error) -> bool {
        matches!(error.downcast_ref(), Some(Self::Refused { code, .. }) if code == ANSWERING)
    }

    /// Replaces the status of a refusal by that of the HTTP response.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        match self {
            Self::Refused { code, message, .. } => Self::Refused { status, code, message },
            unreachable @ Self::Unreachable { .. } => unreachable,
        }
    }
}
