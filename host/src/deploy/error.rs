use super::{SlotView, VaultError, VersionId};

/// Why a change was not made. What answers is then what answered before.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// Somebody else has changed the slot since the caller looked.
    #[error("the slot has generation {} and not {expected}; look again and decide anew", slot.latest())]
    Conflict {
        /// What the caller had seen.
        expected: u64,
        /// What there is.
        slot: Box<SlotView>,
    },
    /// No version goes by this name.
    #[error("slot {slot} knows no version {name}; push it, or see the slot's history for what there is")]
    UnknownVersion {
        /// The slot.
        slot: &'static str,
        /// As it was asked for.
        name: String,
    },
    /// The component may not answer.
    #[error("{reason}")]
    Refused {
        /// Which version.
        version: VersionId,
        /// Everything that is wrong, and what mends it.
        reason: String,
    },
    /// The component was not compiled, for a reason that may pass.
    #[error("{reason}")]
    Uncompiled {
        /// Which version.
        version: VersionId,
        /// Why.
        reason: String,
    },
    /// The version has not passed its trial.
    #[error("version {0} has not passed its trial; push it again and see what is wrong with it")]
    Untried(VersionId),
    /// There is nothing to do.
    #[error("version {0} answers already")]
    Answering(VersionId),
    /// A candidate is wanted.
    #[error("slot {0} has no candidate; begin a canary or a shadow first")]
    NoCandidate(&'static str),
    /// A candidate in shadow is wanted.
    #[error("slot {0} has no candidate in shadow; put one there first")]
    NoShadow(&'static str),
    /// Another version is being tried.
    #[error("version {0} is under trial; promote it or roll it back first")]
    OtherCandidate(VersionId),
    /// Nothing answers beside which a candidate could be tried.
    #[error("slot {0} has no active version; swap one in first")]
    NoActive(&'static str),
    /// There is nothing to go back to.
    #[error("slot {0} has neither a candidate nor a version that answered before")]
    NoPredecessor(&'static str),
    /// Nothing could be kept on disk.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// Other hosts have changed the slot again and again meanwhile.
    #[error("other hosts change the slot at the same time; look again and decide anew")]
    Overtaken,
    /// The database that hosts share does not take the change.
    #[error(
        "the hosts' shared state cannot be reached, so nothing has been changed: {0}; ask again once the database of \
         captcha.database answers"
    )]
    StateUnreachable(String),
    /// The database that hosts share holds what is no state of the slot.
    #[error("nothing has been changed: {0}")]
    StateUnreadable(String),
    /// The host stops.
    #[error("the host is stopping")]
    Stopping,
}

impl DeployError {
    /// A word for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } | Self::Overtaken | Self::Vault(VaultError::Overtaken(_)) => "conflict",
            Self::StateUnreachable(_) => "state-unreachable",
            Self::StateUnreadable(_) => "state-unreadable",
            Self::UnknownVersion { .. } => "unknown-version",
            Self::Refused { .. } | Self::Uncompiled { .. } => "refused",
            Self::Untried(_) => "untried",
            Self::Answering(_) => "answering",
            Self::NoCandidate(_) => "no-candidate",
            Self::NoShadow(_) => "no-shadow",
            Self::OtherCandidate(_) => "other-candidate",
            Self::NoActive(_) => "no-active",
            Self::NoPredecessor(_) => "no-predecessor",
            Self::Vault(_) => "storage",
            Self::Stopping => "stopping",
        }
    }
}
