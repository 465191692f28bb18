//! The command line.

mod admin;
mod captcha;
mod client;
mod component;
mod config;
mod demo;
mod exit;
mod kb;
mod model;
mod output;
mod serve;
mod share;
mod triage;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::{
    compile,
    config::{ConfigFile, Flag, Loaded, Problems, Sources},
    files,
    services::list::load,
    telemetry::logs,
};

/// A WebAssembly component host for ticket triage, appointment status and captcha services.
#[derive(Debug, Parser)]
#[command(name = "bulkhead", version, propagate_version = true)]
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
    /// Get embedding models and look at them.
    #[command(subcommand)]
    Model(model::Command),
    /// Check components, and change what answers on a running host.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 the component may not answer; 4 the slot has \
                      another generation or is in no state for this; 5 not allowed, or the registry is not; 6 no answer \
                      from the host; 7 the state that hosts share cannot be reached."
    )]
    Component(component::Command),
    /// Make up data to try services with.
    #[command(subcommand)]
    Demo(demo::Command),
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
    /// Manage captcha sites, or move to Bulkhead from captchaservice.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 no host can start from the configuration, or the \
                      running one refuses it; 5 not allowed; 6 the host has stopped answering; 7 the state that hosts \
                      share cannot be reached."
    )]
    Captcha(captcha::Command),
    /// Fill the knowledge base that tickets are answered from, search it and judge it.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed, or a figure is lower than what was asked for; 2 wrong arguments."
    )]
    Kb(kb::Command),
    /// Train and judge ticket classifiers, or move to Bulkhead from zammad-ai.
    #[command(subcommand)]
    Triage(triage::Command),
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
    fn load(&self, flags: Vec<Flag>) -> anyhow::Result<Loaded> {
        Ok(self.read(flags)?)
    }

    fn read(&self, flags: Vec<Flag>) -> Result<Loaded, Problems> {
        load(sources(self.config.as_deref(), flags)?)
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
fn check(file: ConfigFile) -> Result<Loaded, Problems> {
    load(Sources { file: Some(file), ..sources(None, Vec::new())? })
}

/// Runs the command line, or a compilation that a host has started this process for; errors go to standard error, one
/// problem a line.
pub fn main() -> ExitCode {
    if let Some(compiled) = compile::compile_if_asked() {
        return compiled;
    }
    let result = match Arguments::parse().command {
        Command::Serve(serve) => serve.run(),
        Command::Config(command) => command.run(),
        Command::Model(command) => command.run(),
        Command::Component(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Admin(command) => command.run(),
        Command::Completions { shell } => completions(shell),
        Command::Captcha(command) => command.run(),
        Command::Kb(command) => command.run(),
        Command::Triage(command) => command.run(),
    };
    match result {
        Ok(()) => {
            logs::write_last("");
            ExitCode::SUCCESS
        }
        Err(error) if matches!(error.downcast_ref(), Some(output::OutputError::Closed)) => ExitCode::SUCCESS,
        Err(error) => {
            // A log that programs read ends with a line of the log, which has said what was cut off.
            let is_said = error.is::<exit::CutOff>();
            logs::write_last(&if is_said { String::new() } else { format!("bulkhead: {}\n", told(&error)) });
            exit::Exit::of(&error).into()
        }
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

fn completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "bulkhead", &mut script);
    Ok(output::text(String::from_utf8_lossy(&script))?)
}
