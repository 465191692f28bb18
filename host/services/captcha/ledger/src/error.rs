//! Holds the errors of the ledger, none of which shows the connection URL.

/// Why the ledger gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The database does not answer, or refused; worth another try later.
    #[error("storage unavailable: {0}")]
    Unavailable(String),
    /// An argument is out of range; the text says which and what it should be.
    #[error("invalid {0}")]
    Invalid(String),
}

impl StorageError {
    /// Returns the error of a closed ledger.
    pub(super) fn closed() -> Self {
        Self::Unavailable("the ledger is closed".into())
    }
}

impl From<sqlx::Error> for StorageError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolTimedOut => Self::Unavailable("no connection in time".into()),
            sqlx::Error::PoolClosed => Self::closed(),
            error => Self::Unavailable(error.to_string()),
        }
    }
}
