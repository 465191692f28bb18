//! Why the hosts' database did not give or take, in the host's words: what a driver says may name what is inside, and is
//! for the log alone.

use crate::pool::NoConnection;

/// Why the database did not give or take. Shown, it holds nothing of its URL, and nothing of what its driver says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DepotError {
    /// The URL is none.
    #[error("the URL of the hosts' database must be postgres://user:password@host:port/name")]
    Url,
    /// It does not answer, or says no.
    #[error("{reason}")]
    Away {
        /// Why, for whoever asks.
        reason: String,
        /// What the driver says, for the log.
        detail: Option<String>,
    },
    /// A slot's row is none that a host has written.
    #[error(
        "the row of slot {slot} in bulkhead_slot cannot be read: {reason}; restore it from a backup, or delete it: a host \
         that has a state of the slot then puts it there"
    )]
    Unreadable {
        /// Which slot's.
        slot: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Another host was faster.
    #[error("another host has changed the slot")]
    Overtaken,
    /// It does not have the component.
    #[error("the hosts' database has no component {0} of a size that sandbox.component_bytes allows")]
    Absent(String),
}

impl DepotError {
    /// It is away, and there is no more to say.
    pub(super) fn away(reason: impl Into<String>) -> Self {
        Self::Away { reason: reason.into(), detail: None }
    }

    /// What the driver says of it, for the log.
    pub(super) fn detail(&self) -> Option<&str> {
        match self {
            Self::Away { detail, .. } => detail.as_deref(),
            _ => None,
        }
    }
}

impl From<&sqlx::Error> for DepotError {
    fn from(error: &sqlx::Error) -> Self {
        let reason = match error {
            sqlx::Error::Database(refused) => of_code(refused.code().as_deref().unwrap_or_default()),
            sqlx::Error::Io(_) => "the database cannot be reached".to_owned(),
            sqlx::Error::Tls(_) => "no TLS connection with the database can be made".to_owned(),
            sqlx::Error::PoolTimedOut => "the database does not answer in time".to_owned(),
            _ => "the database fails; see the log".to_owned(),
        };
        Self::Away { reason, detail: Some(error.to_string()) }
    }
}

impl From<sqlx::Error> for DepotError {
    fn from(error: sqlx::Error) -> Self {
        Self::from(&error)
    }
}

impl From<NoConnection> for DepotError {
    fn from(reason: NoConnection) -> Self {
        match reason {
            NoConnection::Busy => Self::away("all connections to the database are busy"),
            NoConnection::Silent => Self::away("the database does not answer in time"),
            NoConnection::Refused(error) => Self::from(&*error),
        }
    }
}

/// What one of PostgreSQL's codes (SQLSTATE) means here.
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
    fn the_driver_s_words_are_for_the_log_alone() {
        let words = "failed to connect to 10.1.2.3:5432 as clerk";
        let io = || sqlx::Error::Io(io::Error::new(io::ErrorKind::ConnectionRefused, words));
        for (error, reason) in [
            (DepotError::from(io()), "the database cannot be reached"),
            (DepotError::from(NoConnection::Refused(Arc::new(io()))), "the database cannot be reached"),
            (
                DepotError::from(sqlx::Error::Tls(words.into())),
                "no TLS connection with the database can be made",
            ),
            (DepotError::from(sqlx::Error::Protocol(words.into())), "the database fails; see the log"),
        ] {
            assert_eq!(error.to_string(), reason);
            assert!(error.detail().is_some_and(|detail| detail.contains(words)), "{error:?}");
        }
        assert_eq!(DepotError::from(NoConnection::Silent).detail(), None);
    }

    #[test]
    fn codes_are_told_apart() {
        assert_eq!(of_code("28P01"), "the database refuses the user or the password");
        assert!(of_code("42501").contains("grant SELECT"));
        assert_eq!(of_code("XX000"), "the database refuses a statement (SQLSTATE XX000); see the log");
    }
}
