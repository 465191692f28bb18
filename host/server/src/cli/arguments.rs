//! The arguments of a binary: those of every binary, with the slots, subcommands and flags of its services.

use std::ffi::OsStr;

use bulkhead_config::{Flag, slots::SlotId};
use bulkhead_rollout::{ACCESS, CONFIGURATION};
use bulkhead_service::CommandSpec;
use clap::{
    Arg, ArgMatches,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser},
};

use crate::distribution::Distribution;

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
    let is_open = distribution.services.iter().any(|service| service.adds_slots());
    with_slots(with_flags, &slots, is_open)
}

/// Restricts every argument that names a slot of the configuration to the slots of the binary, unless a configuration may
/// name others (`is_open`). Those that name one of a running host, which refuses others, take every id: a service may have
/// added the slot.
fn with_slots(command: clap::Command, slots: &[&'static str], is_open: bool) -> clap::Command {
    let command = command.mut_args(|argument| {
        let known = slots.iter().copied();
        match argument.get_id().as_str() {
            CONFIGURED_SLOT if is_open => of_running_host(argument, HostSlotParser(known.collect())),
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
    command.mut_subcommands(|command| with_slots(command, slots, is_open))
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

    use bulkhead_config::{
        HostSpec, ServiceSpec,
        slots::{Limits, SlotSpec},
    };
    use bulkhead_service::{
        FlagsSpec, Service, ServiceCommand, ServiceContext, ServiceFlags, ServiceFuture, Started,
    };

    use super::*;
    use crate::{cli::command, distribution::StartPage};

    const WITH_ALL: Distribution = Distribution {
        name: "counting",
        about: "A host that counts",
        services: &[&Counting],
        deprecated: &[],
        command_order: &["sum"],
        start_page: StartPage { name: "Counting", first_guides: &[], last_guides: &[] },
    };
    const WITH_NONE: Distribution = Distribution { name: "other", services: &[], ..WITH_ALL };

    /// A service with a slot, two subcommands and a flag of `serve`.
    struct Counting;

    impl Service for Counting {
        fn spec(&self) -> ServiceSpec {
            const COUNTER: SlotSpec = SlotSpec {
                id: SlotId::new("counter"),
                service: "counting",
                limits: &Limits::DEFAULT,
                grants: &[],
                uses_models: false,
                component: None,
            };
            ServiceSpec { name: "counting", slots: &[COUNTER] }
        }

        fn commands(&self) -> &'static [CommandSpec] {
            const { &[CommandSpec::of::<Count>(), CommandSpec::of::<Sum>()] }
        }

        fn serve_flags(&self) -> &'static [FlagsSpec] {
            const { &[FlagsSpec::of::<Steps>()] }
        }

        fn start<'a>(&'a self, _context: &'a ServiceContext) -> ServiceFuture<'a, Started> {
            Box::pin(async { Ok(Started::default()) })
        }
    }

    #[derive(clap::Parser)]
    #[command(name = "count")]
    enum Count {
        Up,
    }

    impl ServiceCommand for Count {
        fn run(self, _spec: &HostSpec) -> anyhow::Result<()> {
            match self {
                Self::Up => Ok(()),
            }
        }
    }

    #[derive(clap::Parser)]
    #[command(name = "sum")]
    struct Sum;

    impl ServiceCommand for Sum {
        fn run(self, _spec: &HostSpec) -> anyhow::Result<()> {
            anyhow::bail!("nothing was counted")
        }
    }

    #[derive(clap::Args)]
    struct Steps {
        #[arg(long)]
        step: Option<String>,
    }

    impl ServiceFlags for Steps {
        fn flags(&self) -> Vec<Flag> {
            let flag = |value: &String| Flag {
                name: "--step".to_owned(),
                path: "counting.step".to_owned(),
                value: value.clone(),
            };
            self.step.iter().map(flag).collect()
        }
    }

    fn given(distribution: &Distribution, arguments: &[&str]) -> Result<ArgMatches, clap::Error> {
        let arguments = [distribution.name].into_iter().chain(arguments.iter().copied());
        command(distribution).try_get_matches_from(arguments)
    }

    #[test]
    fn arguments_are_well_formed() {
        for distribution in [WITH_ALL, WITH_NONE] {
            command(&distribution).debug_assert();
        }
    }

    #[test]
    fn only_configured_slots_are_checked() {
        let check = |slot| ["component", "check", "--slot", slot, "a.wasm"];
        let checked = given(&WITH_ALL, &check("counter")).unwrap();
        let (_, component) = checked.subcommand().unwrap();
        let (_, checked) = component.subcommand().unwrap();
        let slot = checked.get_one::<SlotId>(CONFIGURED_SLOT);
        assert_eq!(slot.map(|slot| slot.as_str()), Some("counter"));
        assert!(given(&WITH_ALL, &check("other")).is_err());
        assert!(given(&WITH_NONE, &check("counter")).is_err());
    }

    #[test]
    fn every_slot_of_a_host_is_shown() {
        for slot in ["counter", "other", "my-app2"] {
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
        let every = command(&WITH_ALL);
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
        let list = ["count", "up"];
        let listed = given(&WITH_ALL, &list).unwrap();
        let (own, listed) = of_service(&WITH_ALL, &listed).unwrap();
        own.run(listed, &WITH_ALL.spec()).unwrap();
        assert!(given(&WITH_NONE, &list).is_err());
        let serve = ["serve", "--step", "two"];
        let served = given(&WITH_ALL, &serve).unwrap();
        assert!(of_service(&WITH_ALL, &served).is_none());
        let flags = serve_flags(&WITH_ALL, &served).unwrap();
        let set: Vec<_> = flags.iter().map(|flag| (flag.path.as_str(), flag.value.as_str())).collect();
        assert_eq!(set, [("counting.step", "two")]);
        assert!(given(&WITH_NONE, &serve).is_err());
        assert!(given(&WITH_NONE, &["serve", "--demo"]).is_ok());
    }

    #[test]
    fn commands_come_in_named_order() {
        let command = command(&WITH_ALL);
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(
            names,
            [
                "serve",
                "config",
                "component",
                "wit",
                "bundle",
                "admin",
                "health",
                "doctor",
                "completions",
                "man",
                "sum",
                "count"
            ]
        );
    }
}
