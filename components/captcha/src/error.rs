//! Why nothing can be said about a payload.

/// What `issue`, `verify` and `invalidate` fail with. A payload that is well-formed and merely not
/// valid is no error: see [`crate::verdict::Verdict`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The payload is not a payload, or an argument cannot be signed: the client's fault.
    #[error("{0}")]
    Malformed(String),
    /// Ask again after this many seconds.
    #[error("the host is busy, ask again after {0} seconds")]
    Busy(u32),
    /// The host refused or failed, or the site's policy cannot be followed.
    #[error("{0}")]
    Internal(String),
}
