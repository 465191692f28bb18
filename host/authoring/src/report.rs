//! What a command prints, and how it fails.

/// What a command prints, and the failure with which it ends after that, if it fails.
#[derive(Debug)]
pub struct CommandReport {
    /// The text for standard output.
    pub text: String,
    /// The failure.
    pub failure: Option<AuthoringFailure>,
}

impl CommandReport {
    /// Returns the report of a command that succeeded.
    pub(crate) const fn done(text: String) -> Self {
        Self { text, failure: None }
    }

    /// Returns the report of a command that failed.
    pub(crate) const fn failed(text: String, failure: AuthoringFailure) -> Self {
        Self { text, failure: Some(failure) }
    }
}

/// The failure of a command, each kind with its exit code.
#[derive(Debug, thiserror::Error)]
pub enum AuthoringFailure {
    /// An argument is wrong.
    #[error("{0}")]
    Usage(String),
    /// The file is not a component of a world of the host.
    #[error("{0}")]
    NoWorld(String),
    /// The new version of a WIT package breaks components that were built against the old one.
    #[error("{0}")]
    Breaks(String),
    /// Cases have failed.
    #[error("{failed} of {cases} cases failed")]
    Cases {
        /// Cases that failed.
        failed: usize,
        /// All cases.
        cases: usize,
    },
    /// The export has answered with an error of its own type.
    #[error("{0} answered with an error")]
    Answered(String),
    /// The call trapped, or exceeded a limit.
    #[error("{0}")]
    Ended(String),
}
