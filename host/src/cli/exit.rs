//! How a command ends: one number a kind of failure, whether the host has said it or the command line has seen it.

use std::process::ExitCode;

use super::client::Failure;
use crate::{
    config::Problems,
    registry::{Fault, PullError},
    service::ComponentCheckError,
};

/// Arguments, or variables that stand for them, that make no sense.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misuse(pub(super) String);

/// A configuration from which no host can start.
#[derive(Debug, thiserror::Error)]
#[error("{what}:\n{problems}")]
pub(super) struct Unsound {
    pub(super) what: &'static str,
    pub(super) problems: Problems,
}

/// A drain whose time was over before the last request had its answer.
#[derive(Debug, thiserror::Error)]
#[error(
    "the time to drain (server.drain_seconds; a second for operators' requests) was over before every request in flight \
     had ended; those that had not are lost"
)]
pub(super) struct CutOff;

/// How a command has failed; `host/rollout/README.md` has the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    /// Anything else.
    Failed = 1,
    /// Wrong arguments, as the parser of arguments ends.
    Misused = 2,
    /// The component may not answer, or the configuration not count.
    Refused = 3,
    /// Another generation, or no state for this.
    Overtaken = 4,
    /// Whoever asks may not, or nobody may.
    NotAllowed = 5,
    /// Nobody answers.
    NoAnswer = 6,
    /// The host answers, and the state that it shares with others is away.
    StateUnreachable = 7,
    /// A host has stopped and has lost requests that were in flight.
    CutOff = 8,
}

impl Exit {
    /// What an error means.
    pub(super) fn of(error: &anyhow::Error) -> Self {
        if error.is::<Misuse>() {
            return Self::Misused;
        }
        if error.is::<ComponentCheckError>() || error.is::<Unsound>() {
            return Self::Refused;
        }
        if error.is::<CutOff>() {
            return Self::CutOff;
        }
        match error.downcast_ref::<PullError>() {
            Some(error) => Self::of_pull(&error.fault),
            None => error.downcast_ref().map_or(Self::Failed, Failure::exit),
        }
    }

    /// The same as a host's answer to a push of the reference.
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
    fn a_host_s_answers_and_what_is_seen_without_one_end_alike() {
        let refused = |status: StatusCode, code: &str| {
            Exit::of(&Failure::Refused { status, code: code.to_owned(), message: String::new() }.into())
        };
        for (status, code, exit) in [
            (StatusCode::BAD_REQUEST, "invalid-request", Exit::Failed),
            (StatusCode::UNPROCESSABLE_ENTITY, "media-type", Exit::Refused),
            (StatusCode::CONFLICT, "conflict", Exit::Overtaken),
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
        assert_eq!(Exit::of(&Misuse(String::new()).into()), Exit::Misused);
        assert_eq!(Exit::of(&CutOff.into()), Exit::CutOff);
        assert_eq!(Exit::of(&anyhow::anyhow!("the rest")), Exit::Failed);
    }
}
