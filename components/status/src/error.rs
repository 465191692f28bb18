//! The component's error type.

/// Why a report cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No figures are known, or all are too old.
    #[error("{0}")]
    Unknown(String),
    /// The host refused or failed.
    #[error("{0}")]
    Internal(String),
}
