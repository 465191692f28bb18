//! The subcommands of the ticket service.

mod kb;
mod triage;

use bulkhead_service::CommandSpec;

/// The subcommands: `kb` fills and searches the knowledge base, `triage` trains and evaluates classifiers.
pub(crate) const COMMANDS: &[CommandSpec] =
    &[CommandSpec::of::<kb::Command>(), CommandSpec::of::<triage::Command>()];
