//! The subcommands of the ticket service.

mod kb;
mod tickets;
mod triage;

use bulkhead_service::CommandSpec;

/// The subcommands: `kb` fills and searches the knowledge base, `triage` trains and evaluates classifiers, `tickets`
/// replaces personal data.
pub(crate) const COMMANDS: &[CommandSpec] = &[
    CommandSpec::of::<kb::Command>(),
    CommandSpec::of::<triage::Command>(),
    CommandSpec::of::<tickets::Command>(),
];
