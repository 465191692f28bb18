//! The component's error type.

/// Why `issue`, `verify` or `invalidate` fails. A payload that is well-formed and merely not valid is not an error:
/// see [`crate::verdict::Verdict`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The client's fault: the text is not a payload, or an argument cannot be signed.
    #[error("{0}")]
    Malformed(String),
    /// The host is busy; retry after this many seconds.
    #[error("the host is busy, ask again after {0} seconds")]
    Busy(u32),
    /// The host refused or failed, or the site's policy cannot be followed.
    #[error("{0}")]
    Internal(String),
}
