//! What the service answers, and why it cannot.

use std::time::Duration;

use bulkhead_http::json;
use bulkhead_ledger::StorageError;
use bulkhead_runtime::invoke::{self, BadAnswer, Outcome};
use bulkhead_telemetry::{escape_guest, guest_lines};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::world::{Error, GuestIssued, Reason as GuestReason};

/// Longest text of a guest's error that is passed on, bytes.
const ERROR_BYTES: usize = 200;

/// When to ask again while storage does not answer, seconds.
const STORAGE_RETRY_SECONDS: u32 = 5;

/// Longest time after which a guest may have clients ask again, seconds.
const GUEST_RETRY_SECONDS: u32 = 3600;

/// Why a payload is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its time is over.
    Expired,
    /// It has been spent.
    Replayed,
    /// No key of this host signed it.
    BadSignature,
    /// The work was not done.
    WrongSolution,
    /// Another site's.
    WrongSite,
    /// Another client's.
    WrongClient,
    /// For another action.
    WrongAction,
    /// Guessed at too often.
    TooManyFailures,
    /// A client on the site's deny list.
    DeniedClient,
}

impl Reason {
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

    /// The name on the wire and in metrics.
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

impl From<GuestReason> for Reason {
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

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The client is on the site's deny list.
    #[error("the client's address is on the site's deny list")]
    Denied,
    /// The client's fault; the text is the guest's, escaped.
    #[error("{0}")]
    Malformed(String),
    /// All proof-of-work places are taken, or storage does not answer.
    #[error("the service cannot answer now, ask again after {retry_after_seconds} s")]
    Busy {
        /// When to ask again, seconds.
        retry_after_seconds: u32,
    },
    /// The slot has no component, or one that only fails.
    #[error("{reason}")]
    Empty {
        /// Why, in words fit for clients.
        reason: String,
        /// When to ask again, seconds, where that helps.
        retry_after_seconds: Option<u32>,
    },
    /// The sandbox ended the call, or had no room for it.
    #[error("the call ended with {}", .0.as_str())]
    Failed(Outcome),
    /// The guest gave up.
    #[error("the component failed")]
    Internal,
}

/// A request that was refused before it came to a site; counted under the site `unknown`, never under a
/// name that the client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectedRequest {
    /// Not understood.
    BadRequest,
    /// Wrong credentials.
    Unauthorized,
}

impl RejectedRequest {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::BadRequest, Self::Unauthorized];

    /// The reason in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::Unauthorized => "unauthorized",
        }
    }
}

/// A challenge for the widget.
#[derive(Debug)]
pub struct Issued {
    /// JSON text of an object.
    pub challenge: Box<RawValue>,
    /// What it costs.
    pub cost: u32,
    /// Visits of this client inside the window, this one included.
    pub visits: u64,
}

/// The service's answer of what the guest returned.
pub(super) fn issued(returned: GuestIssued) -> Result<Issued, BadAnswer> {
    let GuestIssued { challenge, cost, visits } = returned;
    let unreadable = |_| BadAnswer("the challenge is not a JSON object that can be read");
    let challenge = json::as_written(challenge).map_err(unreadable)?;
    Ok(Issued { challenge, cost, visits })
}

impl Issued {
    /// The challenge's name in the ledger, by the component's rule: the hash of its signature.
    pub(super) fn ledger_id(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Signed<'a> {
            #[serde(borrow)]
            signature: std::borrow::Cow<'a, str>,
        }
        let Signed { signature } = serde_json::from_str(self.challenge.get()).ok()?;
        Some(hex::encode(Sha256::digest(signature.as_bytes())))
    }
}

/// What was made of a payload.
#[derive(Clone, Debug)]
pub struct Judged {
    /// None: valid.
    pub rejected: Option<Reason>,
    /// Action signed into the challenge.
    pub action: Option<String>,
    /// Host name of the page, from a widget result.
    pub hostname: Option<String>,
    /// When it was solved, Unix seconds; for a challenge, now.
    pub solved_at: u64,
}

impl Judged {
    /// A refusal that needs no component, at `now` (since the Unix epoch).
    pub(super) fn rejected(reason: Reason, now: Duration) -> Self {
        Self { rejected: Some(reason), action: None, hostname: None, solved_at: now.as_secs() }
    }
}

/// Whether a payload may be good at another site: keys, and what is understood, differ from site to site.
pub(super) fn is_foreign<T>(judged: &Result<(Judged, T), CallError>) -> bool {
    match judged {
        Ok((judged, _)) => {
            matches!(judged.rejected, Some(Reason::BadSignature | Reason::WrongSite | Reason::DeniedClient))
        }
        Err(error) => matches!(error, CallError::Malformed(_)),
    }
}

impl From<invoke::CallError> for CallError {
    fn from(error: invoke::CallError) -> Self {
        match error {
            invoke::CallError::Unavailable(unavailable) => Self::Empty {
                reason: unavailable.to_string(),
                retry_after_seconds: unavailable.retry_after_seconds(),
            },
            invoke::CallError::Failed(failure) => Self::Failed(failure.outcome),
        }
    }
}

impl From<StorageError> for CallError {
    fn from(error: StorageError) -> Self {
        // The ledger tells the log, once for many calls.
        tracing::debug!(%error, "the ledger's storage does not answer");
        Self::Busy { retry_after_seconds: STORAGE_RETRY_SECONDS }
    }
}

impl CallError {
    pub(super) fn of_guest(error: Error) -> Self {
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
