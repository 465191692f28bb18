//! The arguments of a binary: those of every binary, with the slots, subcommands and flags of its services.

use std::ffi::OsStr;

use clap::{
    Arg, ArgMatches,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser},
};

use crate::{
    config::{Flag, slots::SlotId},
    deploy::{ACCESS, CONFIGURATION},
    distribution::Distribution,
    service::CommandSpec,
};

/// The subcommand that takes the flags of services.
const SERVE: &str = "serve";
/// Id of every argument that names a slot of a running host.
const SLOT: &str = "slot";
/// Id of every argument that names a slot of the configuration.
pub(super) const CONFIGURED_SLOT: &str = "configured-slot";
/// Id of every argument that names a subject of the audit log of a running host, such as a slot.
pub(super) const SUBJECT: &str = "subject";

/// Returns the command line of a binary: `every`, which every binary has, and what its services add.
pub(super) fn command(every: clap::Command, distribution: &Distribution) -> clap::Command {
    let named = every.name(distribution.name).about(distribution.about);
    let commands = distribution.commands();
    let with_commands = commands.iter().fold(named, |command, own| command.subcommand(own.command()));
    let with_flags = with_commands.mut_subcommands(|command| match command.get_name() {
        SERVE => distribution.serve_flags().fold(command, |command, own| own.add_to(command)),
        _ => command,
    });
    let slots: Vec<&'static str> = distribution.slots().map(SlotId::as_str).collect();
    with_slots(with_flags, &slots)
}

/// Restricts every argument that names a slot of the configuration to the slots of the binary. Those that name one of a
/// running host, which refuses others, take every id: a service may have added the slot.
fn with_slots(command: clap::Command, slots: &[&'static str]) -> clap::Command {
    let command = command.mut_args(|argument| {
        let known = slots.iter().copied();
        match argument.get_id().as_str() {
            CONFIGURED_SLOT => {
                argument.value_parser(PossibleValuesParser::new(known).try_map(|slot| SlotId::parse(&slot)))
            }
            SLOT => of_running_host(argument, HostSlotParser(known.collect())),
            SUBJECT => {
                let parser = HostSlotParser(known.chain([CONFIGURATION, ACCESS]).collect());
                of_running_host(argument, parser.map(|slot| slot.as_str().to_owned()))
            }
            _ => argument,
        }
    });
    command.mut_subcommands(|command| with_slots(command, slots))
}

/// Sets the parser of an argument. The values that completions offer are not all that it takes, so that help does not list
/// them.
fn of_running_host(argument: Arg, parser: impl Into<ValueParser>) -> Arg {
    let parser: ValueParser = parser.into();
    argument.value_parser(parser).hide_possible_values(true)
}

/// Parses the id of a slot of a running host. Completions offer these ids.
#[derive(Clone)]
struct HostSlotParser(Vec<&'static str>);

impl TypedValueParser for HostSlotParser {
    type Value = SlotId;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<SlotId, clap::Error> {
        SlotId::parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|slot| PossibleValue::new(*slot))))
    }
}

/// Returns the subcommand of a service that was given, with its arguments.
pub(super) fn of_service<'g>(
    distribution: &Distribution,
    given: &'g ArgMatches,
) -> Option<(&'static CommandSpec, &'g ArgMatches)> {
    let (name, given) = given.subcommand()?;
    let commands = distribution.commands();
    let command = commands.into_iter().find(|own| own.command().get_name() == name)?;
    Some((command, given))
}

/// Returns the keys that flags of services set, where `serve` was given.
///
/// # Errors
/// Fails only if a set of flags is declared wrongly.
pub(super) fn serve_flags(distribution: &Distribution, given: &ArgMatches) -> Result<Vec<Flag>, clap::Error> {
    let Some(given) = given.subcommand_matches(SERVE) else { return Ok(Vec::new()) };
    let mut flags = Vec::new();
    for own in distribution.serve_flags() {
        flags.extend(own.read(given)?);
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::CommandFactory as _;

    use super::*;
    use crate::{cli::Arguments, services::list::BULKHEAD};

    const WITH_ALL: Distribution = BULKHEAD;
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
    fn only_configured_slots_are_checked() {
        let check = |slot| ["component", "check", "--slot", slot, "a.wasm"];
        let checked = given(&WITH_ALL, &check("captcha")).unwrap();
        let (_, component) = checked.subcommand().unwrap();
        let (_, checked) = component.subcommand().unwrap();
        let slot = checked.get_one::<SlotId>(CONFIGURED_SLOT);
        assert_eq!(slot.map(|slot| slot.as_str()), Some("captcha"));
        assert!(given(&WITH_ALL, &check("other")).is_err());
        assert!(given(&WITH_NONE, &check("captcha")).is_err());
    }

    #[test]
    fn every_slot_of_a_host_is_shown() {
        for slot in ["captcha", "other", "my-app2"] {
            let shown = given(&WITH_ALL, &["component", "show", slot]).unwrap();
            let (_, component) = shown.subcommand().unwrap();
            let (_, shown) = component.subcommand().unwrap();
            assert_eq!(shown.get_one::<SlotId>(SLOT).map(|slot| slot.as_str()), Some(slot));
        }
        for slot in ["captcha", "other", CONFIGURATION, ACCESS] {
            let audited = given(&WITH_ALL, &["admin", "audit", "--slot", slot]).unwrap();
            let (_, admin) = audited.subcommand().unwrap();
            let (_, audited) = admin.subcommand().unwrap();
            assert_eq!(audited.get_one::<String>(SUBJECT).map(String::as_str), Some(slot));
        }
        for malformed in ["Captcha", "a_b", "a--b"] {
            assert!(given(&WITH_ALL, &["component", "show", malformed]).is_err(), "{malformed}");
            assert!(given(&WITH_ALL, &["admin", "audit", "--slot", malformed]).is_err(), "{malformed}");
        }
    }

    #[test]
    fn completions_offer_configured_slots() {
        let every = command(Arguments::command(), &WITH_ALL);
        let show = every.find_subcommand("component").unwrap().find_subcommand("show").unwrap();
        let slot = show.get_arguments().find(|argument| argument.get_id().as_str() == SLOT).unwrap();
        let offered: Vec<String> =
            slot.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        let configured: Vec<&str> = WITH_ALL.slots().map(SlotId::as_str).collect();
        assert_eq!(offered, configured);
        assert!(!configured.is_empty());
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
