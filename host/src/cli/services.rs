//! Lists the subcommands and flags that the services of the `bulkhead` binary add to its command line.

use super::{captcha, demo, embedding, kb, model, triage};
use crate::service::{CommandSpec, FlagsSpec};

/// The subcommands of the services, in the order of the help.
pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec::of::<model::Command>(),
    CommandSpec::of::<demo::Command>(),
    CommandSpec::of::<captcha::Command>(),
    CommandSpec::of::<kb::Command>(),
    CommandSpec::of::<triage::Command>(),
];

/// The flags of the services for `serve`.
pub const SERVE_FLAGS: &[FlagsSpec] = &[FlagsSpec::of::<embedding::Flags>()];
