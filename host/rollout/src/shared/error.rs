//! Errors of the shared database. Their texts are the host's own; the driver's text may name internals and goes to
//! the log only.

use bulkhead_database::NoConnection;

/// Why an operation on the shared database failed. The text contains neither the URL nor the driver's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SharedStoreError {
    /// The URL is invalid.
    #[error("the URL of the shared database must be postgres://user:password@host:port/name")]
    InvalidUrl,
    /// The database does not answer or rejects the request.
    #[error("{reason}")]
    Unreachable {
        /// Why, for operators.
        reason: String,
        /// The driver's message, for the log.
        detail: Option<String>,
    },
    /// A slot's row was not written by a host.
    #[error(
        "the row of slot {slot} in bulkhead_slot cannot be read: {reason}; restore it from a backup, or delete it: a host \
         that has a state of the slot then writes it again"
    )]
    Unreadable {
        /// The slot.
        slot: &'static str,
        /// What is wrong with the row.
        reason: String,
    },
    /// Another host has written first.
    #[error("another host has changed the slot")]
    Conflict,
    /// The database has no such component.
    #[error("the shared database has no component {0} of a size that sandbox.component_bytes allows")]
    MissingComponent(String),
}

impl SharedStoreError {
    /// Returns an error without a driver's message.
    pub(super) fn unreachable(reason: impl Into<String>) -> Self {
        Self::Unreachable { reason: reason.into(), detail: None }
    }

    /// Returns the driver's message, for the log.
    pub(crate) fn detail(&self) -> Option<&str> {
        match self {
            Self::Unreachable { detail, .. } => detail.as_deref(),
            _ => None,
        }
    }
}

impl From<&sqlx::Error> for SharedStoreError {
    fn from(error: &sqlx::Error) -> Self {
        let reason = match error {
            sqlx::Error::Database(refused) => of_code(refused.code().as_deref().unwrap_or_default()),
            sqlx::Error::Io(_) => "the database cannot be reached".to_owned(),
            sqlx::Error::Tls(_) => "no TLS connection with the database can be made".to_owned(),
            sqlx::Error::PoolTimedOut => "the database does not answer in time".to_owned(),
            _ => "the database fails; see the log".to_owned(),
        };
        Self::Unreachable { reason, detail: Some(error.to_string()) }
    }
}

impl From<sqlx::Error> for SharedStoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::from(&error)
    }
}

impl From<NoConnection> for SharedStoreError {
    fn from(reason: NoConnection) -> Self {
        match reason {
            NoConnection::Busy => Self::unreachable("all connections to the database are busy"),
            NoConnection::Silent => Self::unreachable("the database does not answer in time"),
            NoConnection::Refused(error) => Self::from(&*error),
        }
    }
}

/// Returns the text for a PostgreSQL error code (SQLSTATE).
fn of_code(code: &str) -> String {
    match code {
        "28000" | "28P01" => "the database refuses the user or the password".to_owned(),
        "3D000" => "the server has no database of this name".to_owned(),
        "42501" => "the database does not permit what is needed; grant SELECT, INSERT, UPDATE and DELETE on bulkhead_slot and \
             bulkhead_component, which a user who may create tables makes by starting a host once, or set \
             sharing.enabled = false"
            .to_owned(),
        "53300" => "the database takes no more connections".to_owned(),
        "55P03" | "57014" => "the database did not finish in time".to_owned(),
        "57P01" | "57P02" | "57P03" => "the database is starting or stopping".to_owned(),
        "25006" => "the database is read-only".to_owned(),
        code => format!("the database refuses a statement (SQLSTATE {code}); see the log"),
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use super::*;

    #[test]
    fn driver_message_appears_in_detail_only() {
        let words = "failed to connect to 10.1.2.3:5432 as clerk";
        let io = || sqlx::Error::Io(io::Error::new(io::ErrorKind::ConnectionRefused, words));
        for (error, reason) in [
            (SharedStoreError::from(io()), "the database cannot be reached"),
            (SharedStoreError::from(NoConnection::Refused(Arc::new(io()))), "the database cannot be reached"),
            (
                SharedStoreError::from(sqlx::Error::Tls(words.into())),
                "no TLS connection with the database can be made",
            ),
            (SharedStoreError::from(sqlx::Error::Protocol(words.into())), "the database fails; see the log"),
        ] {
            assert_eq!(error.to_string(), reason);
            assert!(error.detail().is_some_and(|detail| detail.contains(words)), "{error:?}");
        }
        assert_eq!(SharedStoreError::from(NoConnection::Silent).detail(), None);
    }

    #[test]
    fn sqlstate_codes_have_own_texts() {
        assert_eq!(of_code("28P01"), "the database refuses the user or the password");
        assert!(of_code("42501").contains("grant SELECT"));
        assert_eq!(of_code("XX000"), "the database refuses a statement (SQLSTATE XX000); see the log");
    }
}
