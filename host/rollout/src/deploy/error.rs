//! Errors of changes to a slot.

use super::SlotView;
use crate::{LocalStoreError, SharedStoreError, VersionId};

/// Why a change was not made. The versions that answer stay the same.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// The slot has changed since the caller read it.
    #[error("the slot has generation {} and not {expected}; read the slot again before you change it", slot.latest())]
    Conflict {
        /// The generation that the caller has seen.
        expected: u64,
        /// The slot as it is now.
        slot: Box<SlotView>,
    },
    /// No version matches the name.
    #[error("slot {slot} knows no version {name}; push it, or choose one of the slot's history")]
    UnknownVersion {
        /// The slot.
        slot: &'static str,
        /// The requested name.
        name: String,
    },
    /// The component may not answer.
    #[error("{reason}")]
    Refused {
        /// The version.
        version: VersionId,
        /// Everything that is wrong, and how to fix it.
        reason: String,
    },
    /// The component was not compiled, for a temporary reason.
    #[error("{reason}")]
    Uncompiled {
        /// The version.
        version: VersionId,
        /// Why.
        reason: String,
    },
    /// The version has not passed its checks and its self-test.
    #[error(
        "version {0} has not passed its checks and its self-test; push it again and see what is wrong with it"
    )]
    Untried(VersionId),
    /// The version answers already, so that nothing would change.
    #[error("version {0} answers already")]
    Answering(VersionId),
    /// The change needs a candidate.
    #[error("slot {0} has no candidate; begin a canary or a shadow first")]
    NoCandidate(&'static str),
    /// The request needs a candidate in shadow.
    #[error("slot {0} has no candidate in shadow; put one there first")]
    NoShadow(&'static str),
    /// Another version is the candidate.
    #[error("slot {slot} already has the candidate {version}; promote it or roll it back first")]
    OtherCandidate {
        /// The slot.
        slot: &'static str,
        /// Its candidate.
        version: VersionId,
    },
    /// A candidate needs an active version.
    #[error("slot {0} has no active version; swap one in first")]
    NoActive(&'static str),
    /// There is no version to return to.
    #[error("slot {0} has neither a candidate nor a previous version")]
    NoPredecessor(&'static str),
    /// The local store failed.
    #[error(transparent)]
    Storage(#[from] LocalStoreError),
    /// Other hosts changed the slot during every attempt.
    #[error("other hosts are changing the slot at the same time; read the slot again before you change it")]
    ConcurrentChange,
    /// The shared database cannot be reached.
    #[error(
        "the shared state cannot be reached, so nothing has been changed: {0}; ask again once the shared database answers"
    )]
    StateUnreachable(String),
    /// The shared database holds an invalid state of the slot.
    #[error("nothing has been changed: {0}")]
    StateUnreadable(String),
    /// The slot was removed before the change could be made.
    #[error("slot {0} has been removed; choose one of the slots that the host lists")]
    Removed(&'static str),
    /// The host is stopping.
    #[error("the host is stopping")]
    Stopping,
}

impl DeployError {
    /// Returns the error's code, for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } | Self::ConcurrentChange | Self::Storage(LocalStoreError::Conflict(_)) => {
                "conflict"
            }
            Self::StateUnreachable(_) => "state-unreachable",
            Self::StateUnreadable(_) => "state-unreadable",
            Self::UnknownVersion { .. } => "unknown-version",
            Self::Refused { .. } | Self::Uncompiled { .. } => "refused",
            Self::Untried(_) => "untried",
            Self::Answering(_) => "answering",
            Self::NoCandidate(_) => "no-candidate",
            Self::NoShadow(_) => "no-shadow",
            Self::OtherCandidate { .. } => "other-candidate",
            Self::NoActive(_) => "no-active",
            Self::NoPredecessor(_) => "no-predecessor",
            Self::Storage(_) => "storage",
            Self::Removed(_) => "unknown-slot",
            Self::Stopping => "stopping",
        }
    }
}

impl From<SharedStoreError> for DeployError {
    fn from(error: SharedStoreError) -> Self {
        match error {
            SharedStoreError::Conflict => Self::ConcurrentChange,
            SharedStoreError::Unreadable { .. } => Self::StateUnreadable(error.to_string()),
            SharedStoreError::InvalidUrl
            | SharedStoreError::Unreachable { .. }
            | SharedStoreError::MissingComponent(_) => {
                if let Some(detail) = error.detail() {
                    tracing::warn!(reason = %error, detail, "the shared database failed");
                }
                Self::StateUnreachable(error.to_string())
            }
        }
    }
}
