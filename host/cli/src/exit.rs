//! Exit codes of commands: one for each kind of failure, on the host or in the command line.

use std::process::ExitCode;

use bulkhead_config::Problems;
use bulkhead_registry::{Fault, PullError};
use bulkhead_service::ComponentCheckError;

use super::remote_error::RemoteError;

/// The code of the host's error that the database which it shares with others does not answer.
const STATE_UNREACHABLE: &str = "state-unreachable";

/// Wrong arguments, or wrong variables that set them.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// A configuration with which no host can start.
#[derive(Debug, thiserror::Error)]
#[error("{what}:\n{problems}")]
pub struct InvalidConfiguration {
    /// What follows, such as `no host can start from the result`.
    pub what: &'static str,
    /// What is wrong with it.
    pub problems: Problems,
}

/// The host stopped before every request in flight had its answer.
#[derive(Debug, thiserror::Error)]
#[error(
    "the time to drain (server.drain_seconds; one second for operators' requests) has passed, and the requests that were \
     still in flight are lost"
)]
pub struct RequestsLost;

/// The failure of a command that has chosen its exit code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct CommandFailure {
    /// The exit code.
    pub exit: Exit,
    /// What failed.
    pub text: String,
}

/// Exit codes of failed commands; `host/rollout/README.md` has the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Every other failure.
    Failed = 1,
    /// The arguments are wrong. The parser of arguments ends with the same code.
    Usage = 2,
    /// The component may not answer, the configuration may not take effect, or no host can start on the machine.
    Refused = 3,
    /// The slot has another generation, or its state does not allow the command.
    Conflict = 4,
    /// The token's scope or the configuration does not allow the command.
    NotAllowed = 5,
    /// The host does not answer.
    NoAnswer = 6,
    /// The host answers, but the shared database does not.
    StateUnreachable = 7,
    /// The host has stopped and lost requests in flight.
    RequestsLost = 8,
    /// The called export has answered with an error of its own type.
    GuestError = 9,
    /// The call of an export trapped, or exceeded a limit.
    CallEnded = 10,
}

impl Exit {
    /// Returns the exit code of an error.
    pub fn of(error: &anyhow::Error) -> Self {
        if error.is::<UsageError>() {
            return Self::Usage;
        }
        if error.is::<ComponentCheckError>() || error.is::<InvalidConfiguration>() {
            return Self::Refused;
        }
        if error.is::<RequestsLost>() {
            return Self::RequestsLost;
        }
        if let Some(failure) = error.downcast_ref::<CommandFailure>() {
            return failure.exit;
        }
        match error.downcast_ref::<PullError>() {
            Some(error) => Self::of_pull(&error.fault),
            None => error.downcast_ref().map_or(Self::Failed, Self::of_remote),
        }
    }

    /// Returns the exit code of a host's error.
    fn of_remote(error: &RemoteError) -> Self {
        match error {
            RemoteError::Unreachable { .. } => Self::NoAnswer,
            RemoteError::Refused { status, code, .. } => match status.as_u16() {
                422 => Self::Refused,
                409 => Self::Conflict,
                401 | 403 | 429 => Self::NotAllowed,
                503 if code == STATE_UNREACHABLE => Self::StateUnreachable,
                _ => Self::Failed,
            },
        }
    }

    /// Returns the exit code of a failed pull: the same as when a host pulls the reference.
    const fn of_pull(fault: &Fault) -> Self {
        match fault {
            Fault::NotAllowed(_) => Self::NotAllowed,
            Fault::MediaType(_) => Self::Refused,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    #[test]
    fn errors_of_host_and_cli_exit_alike() {
        let refused = |status: StatusCode, code: &str| {
            Exit::of(&RemoteError::Refused { status, code: code.to_owned(), message: String::new() }.into())
        };
        for (status, code, exit) in [
            (StatusCode::BAD_REQUEST, "invalid-request", Exit::Failed),
            (StatusCode::UNPROCESSABLE_ENTITY, "media-type", Exit::Refused),
            (StatusCode::CONFLICT, "conflict", Exit::Conflict),
            (StatusCode::FORBIDDEN, "registry-not-allowed", Exit::NotAllowed),
            (StatusCode::UNAUTHORIZED, "unauthorized", Exit::NotAllowed),
            (StatusCode::SERVICE_UNAVAILABLE, "state-unreachable", Exit::StateUnreachable),
            (StatusCode::SERVICE_UNAVAILABLE, "busy", Exit::Failed),
        ] {
            assert_eq!(refused(status, code), exit, "{status} {code}");
        }
        let pulled = |fault| Exit::of(&PullError { reference: String::new(), fault }.into());
        assert_eq!(pulled(Fault::NotAllowed(String::new())), refused(StatusCode::FORBIDDEN, ""));
        assert_eq!(pulled(Fault::MediaType(String::new())), refused(StatusCode::UNPROCESSABLE_ENTITY, ""));
        assert_eq!(pulled(Fault::NotFound), refused(StatusCode::NOT_FOUND, ""));
        assert_eq!(Exit::of(&UsageError(String::new()).into()), Exit::Usage);
        assert_eq!(Exit::of(&RequestsLost.into()), Exit::RequestsLost);
        let failure = CommandFailure { exit: Exit::CallEnded, text: String::new() };
        assert_eq!(Exit::of(&failure.into()), Exit::CallEnded);
        assert_eq!(Exit::of(&anyhow::anyhow!("the rest")), Exit::Failed);
    }
}
