//! The arguments of a binary: those of every binary, with the slots, subcommands and flags of its services.

use clap::{
    ArgMatches,
    builder::{PossibleValuesParser, TypedValueParser as _},
};

use crate::{
    config::{Flag, slots::SlotId},
    deploy::{ACCESS, CONFIGURATION},
    distribution::{CommandSpec, Distribution},
};

/// The subcommand that takes the flags of services.
const SERVE: &str = "serve";
/// Id of every argument that names a slot.
const SLOT: &str = "slot";
/// Id of every argument that names a subject of the audit log, such as a slot.
pub(super) const SUBJECT: &str = "subject";

/// Returns the command line of a binary: `every`, which every binary has, and what its services add.
pub(super) fn command(every: clap::Command, distribution: &Distribution) -> clap::Command {
    let named = every.name(distribution.name).about(distribution.about);
    let commands = distribution.commands.iter();
    let with_commands = commands.fold(named, |command, own| command.subcommand(own.command()));
    let with_flags = with_commands.mut_subcommands(|command| match command.get_name() {
        SERVE => distribution.serve_flags.iter().fold(command, |command, own| own.add_to(command)),
        _ => command,
    });
    let slots: Vec<&'static str> = distribution.slots().map(SlotId::as_str).collect();
    with_slots(with_flags, &slots)
}

/// Restricts every argument that names a slot to the slots of the binary.
fn with_slots(command: clap::Command, slots: &[&'static str]) -> clap::Command {
    let command = command.mut_args(|argument| {
        let slots = slots.iter().copied();
        match argument.get_id().as_str() {
            SLOT => {
                argument.value_parser(PossibleValuesParser::new(slots).try_map(|slot| SlotId::parse(&slot)))
            }
            SUBJECT => argument.value_parser(PossibleValuesParser::new(slots.chain([CONFIGURATION, ACCESS]))),
            _ => argument,
        }
    });
    command.mut_subcommands(|command| with_slots(command, slots))
}

/// Returns the subcommand of a service that was given, with its arguments.
pub(super) fn of_service<'g>(
    distribution: &Distribution,
    given: &'g ArgMatches,
) -> Option<(&'static CommandSpec, &'g ArgMatches)> {
    let (name, given) = given.subcommand()?;
    let command = distribution.commands.iter().find(|own| own.command().get_name() == name)?;
    Some((command, given))
}

/// Returns the keys that flags of services set, where `serve` was given.
///
/// # Errors
/// Fails only if a set of flags is declared wrongly.
pub(super) fn serve_flags(distribution: &Distribution, given: &ArgMatches) -> Result<Vec<Flag>, clap::Error> {
    let Some(given) = given.subcommand_matches(SERVE) else { return Ok(Vec::new()) };
    let mut flags = Vec::new();
    for own in distribution.serve_flags {
        flags.extend(own.read(given)?);
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::CommandFactory as _;

    use super::*;
    use crate::{
        cli::{Arguments, COMMANDS, SERVE_FLAGS},
        services::list::BULKHEAD,
    };

    const WITH_ALL: Distribution = Distribution { commands: COMMANDS, serve_flags: SERVE_FLAGS, ..BULKHEAD };
    const WITH_NONE: Distribution = Distribution { name: "other", services: &[], ..BULKHEAD };

    fn given(distribution: &Distribution, arguments: &[&str]) -> Result<ArgMatches, clap::Error> {
        let arguments = [distribution.name].into_iter().chain(arguments.iter().copied());
        command(Arguments::command(), distribution).try_get_matches_from(arguments)
    }

    #[test]
    fn arguments_are_well_formed() {
        for distribution in [WITH_ALL, WITH_NONE] {
            command(Arguments::command(), &distribution).debug_assert();
        }
    }

    #[test]
    fn only_slots_of_the_binary_are_taken() {
        let show = |slot| ["component", "show", slot];
        let shown = given(&WITH_ALL, &show("captcha")).unwrap();
        let (_, component) = shown.subcommand().unwrap();
        let (_, shown) = component.subcommand().unwrap();
        assert_eq!(shown.get_one::<SlotId>(SLOT).map(|slot| slot.as_str()), Some("captcha"));
        assert!(given(&WITH_ALL, &show("other")).is_err());
        assert!(given(&WITH_NONE, &show("captcha")).is_err());
        for (subject, is_one) in [("captcha", true), ("config", true), ("access", true), ("other", false)] {
            assert_eq!(given(&WITH_ALL, &["admin", "audit", "--slot", subject]).is_ok(), is_one, "{subject}");
        }
    }

    #[test]
    fn services_add_commands_and_flags() {
        let list = ["captcha", "site", "list"];
        let listed = given(&WITH_ALL, &list).unwrap();
        assert!(of_service(&WITH_ALL, &listed).is_some());
        assert!(given(&WITH_NONE, &list).is_err());
        let serve = ["serve", "--model", "one,two"];
        let served = given(&WITH_ALL, &serve).unwrap();
        assert!(of_service(&WITH_ALL, &served).is_none());
        let flags = serve_flags(&WITH_ALL, &served).unwrap();
        let set: Vec<_> = flags.iter().map(|flag| (flag.path.as_str(), flag.value.as_str())).collect();
        assert_eq!(set, [("embedding.models", "one,two")]);
        assert!(given(&WITH_NONE, &serve).is_err());
        assert!(given(&WITH_NONE, &["serve", "--demo"]).is_ok());
    }
}
