//! The answers of the slot's calls, and their errors.

use std::time::Duration;

use bulkhead_http::json;
use bulkhead_ledger::StorageError;
use bulkhead_runtime::invoke::{self, BadAnswer, Outcome};
use bulkhead_telemetry::{escape_guest, guest_lines};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::world::{Error, GuestIssued, Reason as GuestReason};

/// Longest text of a guest's error that clients see, bytes.
const ERROR_BYTES: usize = 200;

/// When to retry while the storage does not answer, seconds.
const STORAGE_RETRY_SECONDS: u32 = 5;

/// Longest retry time that a guest may ask for, seconds.
const GUEST_RETRY_SECONDS: u32 = 3600;

/// Why a payload is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// It has expired.
    Expired,
    /// It has been spent before.
    Replayed,
    /// No key of this host signed it.
    BadSignature,
    /// The work was not done.
    WrongSolution,
    /// It belongs to another site.
    WrongSite,
    /// It belongs to another client.
    WrongClient,
    /// It is for another action.
    WrongAction,
    /// Too many attempts at its challenge have failed.
    TooManyFailures,
    /// The client is on the site's deny list.
    DeniedClient,
}

impl RejectionReason {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Expired,
        Self::Replayed,
        Self::BadSignature,
        Self::WrongSolution,
        Self::WrongSite,
        Self::WrongClient,
        Self::WrongAction,
        Self::TooManyFailures,
        Self::DeniedClient,
    ];

    /// Returns the name on the wire and in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Replayed => "replayed",
            Self::BadSignature => "bad_signature",
            Self::WrongSolution => "wrong_solution",
            Self::WrongSite => "wrong_site",
            Self::WrongClient => "wrong_client",
            Self::WrongAction => "wrong_action",
            Self::TooManyFailures => "too_many_failures",
            Self::DeniedClient => "denied_client",
        }
    }
}

impl From<GuestReason> for RejectionReason {
    fn from(reason: GuestReason) -> Self {
        match reason {
            GuestReason::Expired => Self::Expired,
            GuestReason::Replayed => Self::Replayed,
            GuestReason::BadSignature => Self::BadSignature,
            GuestReason::WrongSolution => Self::WrongSolution,
            GuestReason::WrongSite => Self::WrongSite,
            GuestReason::WrongClient => Self::WrongClient,
            GuestReason::WrongAction => Self::WrongAction,
            GuestReason::TooManyFailures => Self::TooManyFailures,
        }
    }
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CaptchaCallError {
    /// The client is on the site's deny list.
    #[error("the client's address is on the site's deny list")]
    Denied,
    /// The component refused the payload; the text is its own, escaped.
    #[error("{0}")]
    Malformed(String),
    /// The proof-of-work queue is full, or the storage does not answer.
    #[error("the service cannot answer now, ask again after {retry_after_seconds} s")]
    Busy {
        /// When to retry, seconds.
        retry_after_seconds: u32,
    },
    /// The slot is starting, has no component, or its circuit is open.
    #[error("{reason}")]
    Unavailable {
        /// A stable code for programs.
        code: &'static str,
        /// Why, for clients.
        reason: String,
        /// When to retry, seconds, where that helps.
        retry_after_seconds: Option<u32>,
    },
    /// The sandbox ended the call, or had no permit for it.
    #[error("the call ended with {}", .0.as_str())]
    Failed(Outcome),
    /// The component reported an internal error.
    #[error("the component failed")]
    Internal,
}

/// Why a request was refused before it reached a site. Counted under the site `unknown`, never under a name that the
/// client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectedRequest {
    /// The request is malformed.
    BadRequest,
    /// The credentials are wrong.
    Unauthorized,
}

impl RejectedRequest {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::BadRequest, Self::Unauthorized];

    /// Returns the reason in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::Unauthorized => "unauthorized",
        }
    }
}

/// A challenge for the widget.
#[derive(Debug)]
pub struct IssuedChallenge {
    /// JSON text of an object.
    pub challenge: Box<RawValue>,
    /// Its cost.
    pub cost: u32,
    /// Visits of this client inside the window, this one included.
    pub visits: u64,
}

/// Checks the challenge that the guest returned.
pub(crate) fn issued(returned: GuestIssued) -> Result<IssuedChallenge, BadAnswer> {
    let GuestIssued { challenge, cost, visits } = returned;
    let unreadable = |_| BadAnswer("the challenge is not a readable JSON object");
    let challenge = json::as_written(challenge).map_err(unreadable)?;
    Ok(IssuedChallenge { challenge, cost, visits })
}

impl IssuedChallenge {
    /// Returns the challenge's id in the ledger, which the component derives alike: the hash of its signature.
    pub(crate) fn ledger_id(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Signed<'a> {
            #[serde(borrow)]
            signature: std::borrow::Cow<'a, str>,
        }
        let Signed { signature } = serde_json::from_str(self.challenge.get()).ok()?;
        Some(hex::encode(Sha256::digest(signature.as_bytes())))
    }
}

/// The judgement on a payload.
#[derive(Clone, Debug)]
pub struct PayloadJudgement {
    /// Why it is rejected; `None` when it is valid.
    pub rejected: Option<RejectionReason>,
    /// Action signed into the challenge.
    pub action: Option<String>,
    /// Host name of the page, from a widget result.
    pub hostname: Option<String>,
    /// When it was solved, Unix seconds; for a challenge, the time of the judgement.
    pub solved_at: u64,
}

impl PayloadJudgement {
    /// Returns a rejection without a call of the component, at `now` (since the Unix epoch).
    pub(crate) fn rejected(reason: RejectionReason, now: Duration) -> Self {
        Self { rejected: Some(reason), action: None, hostname: None, solved_at: now.as_secs() }
    }
}

/// Checks whether a rejected payload may be valid at another site: sites differ in keys and accepted formats.
pub(crate) fn may_fit_another_site<T>(judged: &Result<(PayloadJudgement, T), CaptchaCallError>) -> bool {
    match judged {
        Ok((judged, _)) => {
            matches!(
                judged.rejected,
                Some(
                    RejectionReason::BadSignature
                        | RejectionReason::WrongSite
                        | RejectionReason::DeniedClient
                )
            )
        }
        Err(error) => matches!(error, CaptchaCallError::Malformed(_)),
    }
}

impl From<invoke::CallError> for CaptchaCallError {
    fn from(error: invoke::CallError) -> Self {
        match error {
            invoke::CallError::Unavailable(unavailable) => Self::Unavailable {
                code: unavailable.code(),
                reason: unavailable.to_string(),
                retry_after_seconds: unavailable.retry_after_seconds(),
            },
            invoke::CallError::Failed(failure) => Self::Failed(failure.outcome),
        }
    }
}

impl From<StorageError> for CaptchaCallError {
    fn from(error: StorageError) -> Self {
        // The ledger logs it, once for many calls.
        tracing::debug!(%error, "the ledger's storage does not answer");
        Self::Busy { retry_after_seconds: STORAGE_RETRY_SECONDS }
    }
}

impl CaptchaCallError {
    /// Converts an error of the component.
    pub(crate) fn of_guest(error: Error) -> Self {
        match error {
            Error::Malformed(text) => Self::Malformed(escape_guest(&text, ERROR_BYTES)),
            Error::Busy(seconds) => Self::Busy { retry_after_seconds: seconds.min(GUEST_RETRY_SECONDS) },
            Error::Internal(text) => {
                tracing::error!(
                    text = guest_lines(&text, ERROR_BYTES).join("; "),
                    "the captcha component failed"
                );
                Self::Internal
            }
        }
    }
}
