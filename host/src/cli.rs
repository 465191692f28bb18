//! The command line.

mod admin;
mod arguments;
mod captcha;
mod client;
mod component;
mod config;
mod demo;
mod embedding;
mod exit;
mod kb;
mod model;
mod output;
mod serve;
mod services;
mod share;
mod triage;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use self::services::{COMMANDS, SERVE_FLAGS};
use crate::{
    compile,
    config::{ConfigFile, Flag, Loaded, Problems, Sources},
    distribution::Distribution,
    files,
    telemetry::logs,
};

/// The arguments that the command line of every binary takes.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until SIGTERM or SIGINT.
    #[command(
        after_help = "Exit codes: 0 stopped, and every request in flight has ended; 1 failed, or a second signal ended it; \
                      2 wrong arguments; 8 requests in flight were lost, for server.drain_seconds were over."
    )]
    Serve(Box<serve::Serve>),
    /// Look at the configuration, and have a running host read it anew.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed, or the file is not good; 2 wrong arguments; of show, reload and undo \
                      also: 3 the host refuses the configuration and keeps the old one; 4 there is nothing to undo, or \
                      somebody else has changed a slot; 5 not allowed; 6 no answer from the host; 7 the state that \
                      hosts share cannot be reached."
    )]
    Config(config::Command),
    /// Check components, and change what answers on a running host.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 the component may not answer; 4 the slot has \
                      another generation or is in no state for this; 5 not allowed, or the registry is not; 6 no answer \
                      from the host; 7 the state that hosts share cannot be reached."
    )]
    Component(component::Command),
    /// Make operators' tokens and read the audit log.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 5 not allowed; 6 no answer from the host."
    )]
    Admin(admin::Command),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Names the configuration file.
const CONFIG_VARIABLE: &str = "BULKHEAD_CONFIG";

/// Variables that stand for flags.
const FLAG_VARIABLES: [&str; 4] =
    [CONFIG_VARIABLE, client::URL_VARIABLE, client::TOKEN_VARIABLE, client::TOKEN_FILE_VARIABLE];

/// Where the configuration comes from.
#[derive(Clone, Debug, clap::Args)]
struct Configuration {
    /// TOML file; without one the defaults hold. `BULKHEAD_*` variables win over it, flags over those.
    #[arg(long, value_name = "FILE", env = CONFIG_VARIABLE)]
    config: Option<PathBuf>,
}

impl Configuration {
    fn load(&self, distribution: &Distribution, flags: Vec<Flag>) -> anyhow::Result<Loaded> {
        Ok(self.read(distribution, flags)?)
    }

    fn read(&self, distribution: &Distribution, flags: Vec<Flag>) -> Result<Loaded, Problems> {
        distribution.load(sources(self.config.as_deref(), flags)?)
    }
}

/// The layers of this process.
fn sources(file: Option<&Path>, flags: Vec<Flag>) -> Result<Sources, Problems> {
    let mut sources = Sources::of_process(file, flags)?;
    // The flags' own variables, not keys.
    sources.environment.retain(|(name, _)| !FLAG_VARIABLES.contains(&name.as_str()));
    Ok(sources)
}

/// What `bulkhead config check` would say of a file with this text.
fn check(distribution: &Distribution, file: ConfigFile) -> Result<Loaded, Problems> {
    distribution.load(Sources { file: Some(file), ..sources(None, Vec::new())? })
}

/// Runs the command line of a binary, or a compilation that a host has started this process for; errors go to standard
/// error, one problem a line.
pub fn run(distribution: &Distribution) -> ExitCode {
    if let Some(compiled) = compile::compile_if_asked() {
        return compiled;
    }
    match perform(distribution) {
        Ok(()) => {
            logs::write_last("");
            ExitCode::SUCCESS
        }
        Err(error) if matches!(error.downcast_ref(), Some(output::OutputError::Closed)) => ExitCode::SUCCESS,
        Err(error) => {
            // A log that programs read ends with a line of the log, which has said what was cut off.
            let is_said = error.is::<exit::CutOff>();
            let message =
                if is_said { String::new() } else { format!("{}: {}\n", distribution.name, told(&error)) };
            logs::write_last(&message);
            exit::Exit::of(&error).into()
        }
    }
}

/// Runs the command that the arguments of this process name, or ends the process where they are wrong.
fn perform(distribution: &Distribution) -> anyhow::Result<()> {
    let given = arguments::command(Arguments::command(), distribution).get_matches();
    if let Some((command, given)) = arguments::of_service(distribution, &given) {
        return command.run(given, distribution);
    }
    let arguments = Arguments::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    match arguments.command {
        Command::Serve(serve) => serve.run(distribution, arguments::serve_flags(distribution, &given)?),
        Command::Config(command) => command.run(distribution),
        Command::Component(command) => command.run(distribution),
        Command::Admin(command) => command.run(),
        Command::Completions { shell } => completions(distribution, shell),
    }
}

/// An error and its causes, but for those that the text before them says, and without the operating system's numbers.
fn told(error: &anyhow::Error) -> String {
    let told =
        error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match told.as_str() {
            "" => cause,
            before if before.contains(&cause) => told,
            before => format!("{before}: {cause}"),
        });
    let mut parts = told.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text + rest,
        _ => format!("{text} (os error {part}"),
    })
}

/// Makes the data folder, as a host does, for a command that may be the first to write into it. Where that fails, what is
/// written there next says so.
fn make_data_folder(folder: &Path) {
    let _ = files::make_data_folder(folder);
}

/// How many lines a host may be asked for.
fn lines() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=10_000)
}

fn completions(distribution: &Distribution, shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    let mut command = arguments::command(Arguments::command(), distribution);
    clap_complete::generate(shell, &mut command, distribution.name, &mut script);
    Ok(output::text(String::from_utf8_lossy(&script))?)
}
