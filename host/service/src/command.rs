//! Lets services add subcommands, and flags of `serve`, to the command line of a binary.

use bulkhead_config::{Flag, HostSpec};
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, builder::Resettable};

/// A subcommand of a service, with its arguments.
pub trait ServiceCommand: CommandFactory + FromArgMatches {
    /// Runs the subcommand. `spec` describes the host of the binary, for which configurations are read.
    ///
    /// # Errors
    /// Returns why the subcommand has failed.
    fn run(self, spec: &HostSpec) -> anyhow::Result<()>;
}

/// Flags of `serve` that set keys of a service.
pub trait ServiceFlags: Args {
    /// Returns the keys that the flags set.
    fn flags(&self) -> Vec<Flag>;
}

/// The functions that parse and run a subcommand.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    command: fn() -> clap::Command,
    run: fn(&ArgMatches, &HostSpec) -> anyhow::Result<()>,
}

impl CommandSpec {
    /// Describes the subcommand of type `T`.
    pub const fn of<T: ServiceCommand>() -> Self {
        Self { command: T::command, run: run::<T> }
    }

    /// Returns the subcommand as the parser of arguments takes it.
    pub fn command(&self) -> clap::Command {
        (self.command)()
    }

    /// Runs the subcommand with its parsed arguments. `spec` describes the host of the binary.
    ///
    /// # Errors
    /// Returns why the subcommand has failed.
    pub fn run(&self, arguments: &ArgMatches, spec: &HostSpec) -> anyhow::Result<()> {
        (self.run)(arguments, spec)
    }
}

fn run<T: ServiceCommand>(arguments: &ArgMatches, spec: &HostSpec) -> anyhow::Result<()> {
    T::from_arg_matches(arguments)?.run(spec)
}

/// The functions that add and parse a set of flags.
#[derive(Clone, Copy, Debug)]
pub struct FlagsSpec {
    add: fn(clap::Command) -> clap::Command,
    read: fn(&ArgMatches) -> Result<Vec<Flag>, clap::Error>,
}

impl FlagsSpec {
    /// Describes the flags of type `T`.
    pub const fn of<T: ServiceFlags>() -> Self {
        Self { add: T::augment_args, read: |arguments| Ok(T::from_arg_matches(arguments)?.flags()) }
    }

    /// Adds the flags to a command, which keeps its description.
    pub fn add_to(&self, command: clap::Command) -> clap::Command {
        let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
        (self.add)(command).about(Resettable::from(about)).long_about(Resettable::from(long_about))
    }

    /// Returns the keys that the flags set.
    ///
    /// # Errors
    /// Fails if the arguments are those of another command.
    pub fn read(&self, arguments: &ArgMatches) -> Result<Vec<Flag>, clap::Error> {
        (self.read)(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags of a service.
    #[derive(clap::Args)]
    struct Few {
        #[arg(long)]
        few: bool,
    }

    impl ServiceFlags for Few {
        fn flags(&self) -> Vec<Flag> {
            assert!(self.few);
            Vec::new()
        }
    }

    #[test]
    fn command_with_flags_keeps_its_description() {
        let command = FlagsSpec::of::<Few>().add_to(clap::Command::new("serve").about("Serves"));
        assert_eq!(command.get_about().map(ToString::to_string).as_deref(), Some("Serves"));
        let parsed = command.try_get_matches_from(["serve", "--few"]);
        assert!(parsed.is_ok_and(|arguments| FlagsSpec::of::<Few>().read(&arguments).is_ok()));
    }
}
