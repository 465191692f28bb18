//! Ends the commands for authors of components: what they print, and their exit codes.

use bulkhead_authoring::{AuthoringFailure, CommandReport};
use bulkhead_cli::{
    exit::{CommandFailure, Exit},
    output,
};

/// Prints the report of a command for authors, and fails as that did.
pub(super) fn finish(result: anyhow::Result<CommandReport>) -> anyhow::Result<()> {
    let failure = match result {
        Ok(CommandReport { text, failure }) => {
            output::text(text)?;
            failure
        }
        Err(error) => Some(error.downcast::<AuthoringFailure>()?),
    };
    let Some(failure) = failure else { return Ok(()) };
    Err(CommandFailure { exit: exit(&failure), text: failure.to_string() }.into())
}

const fn exit(failure: &AuthoringFailure) -> Exit {
    match failure {
        AuthoringFailure::Usage(_) => Exit::Usage,
        AuthoringFailure::NoWorld(_) | AuthoringFailure::Breaks(_) => Exit::Refused,
        AuthoringFailure::Cases { .. } => Exit::Failed,
        AuthoringFailure::Answered(_) => Exit::GuestError,
        AuthoringFailure::Ended(_) => Exit::CallEnded,
    }
}
