//! Holds the errors of a collection, which do not show the URL of the database.

/// Why there are no figures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    /// There is no connection.
    #[error("the database cannot be reached: {0}; check status.database")]
    Unreachable(String),
    /// It takes too long.
    #[error("the database did not answer within {0} s; see status.statement_timeout_seconds")]
    Timeout(u64),
    /// A table or a column is missing.
    #[error("the database lacks what is asked for: {0}; migrate it")]
    Schema(String),
    /// The user may not read.
    #[error("the database refuses: {0}; grant the user SELECT")]
    Denied(String),
    /// Anything else.
    #[error("the database fails: {0}")]
    Failed(String),
}

impl CollectError {
    /// Returns a word for metrics.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Timeout(_) => "timeout",
            Self::Schema(_) => "schema",
            Self::Denied(_) => "denied",
            Self::Failed(_) => "failed",
        }
    }
}

/// Returns the reason that the database or the system gives, without the driver's words around it.
pub(super) fn reason(error: &sqlx::Error) -> String {
    match error {
        // Displayed, PostgreSQL's would have a line of the server's source code.
        sqlx::Error::Database(refused) => refused.message().to_owned(),
        sqlx::Error::Configuration(reason) | sqlx::Error::Tls(reason) => reason.to_string(),
        sqlx::Error::Io(reason) => reason.to_string(),
        other => other.to_string(),
    }
}

impl From<&sqlx::Error> for CollectError {
    fn from(error: &sqlx::Error) -> Self {
        let text = reason(error);
        match error {
            sqlx::Error::Database(refused) => {
                // MariaDB's SQLSTATE; PostgreSQL's; SQLite has texts only.
                let state = refused.code().unwrap_or_default();
                match &*state {
                    "42S02" | "42S22" | "42P01" | "42703" => Self::Schema(text),
                    _ if text.contains("no such table") || text.contains("no such column") => {
                        Self::Schema(text)
                    }
                    // MariaDB's and PostgreSQL's "wrong user or password".
                    "28000" | "28P01" => Self::Unreachable(text),
                    "42000" | "42501" => Self::Denied(text),
                    // SQLite: the file cannot be opened, or is not a database.
                    "14" | "26" => Self::Unreachable(text),
                    _ => Self::Failed(text),
                }
            }
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => Self::Unreachable(text),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_) => Self::Schema(text),
            _ => Self::Failed(text),
        }
    }
}
