//! The command line: the commands of every binary, those of its services, and how errors are printed.

mod admin;
mod arguments;
mod author;
mod bundle;
mod component;
mod config;
mod doctor;
mod health;
mod manual;
mod serve;

use std::process::ExitCode;

use bulkhead_authoring::WitCommand;
use bulkhead_cli::{exit, output};
use bulkhead_telemetry::logs;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::distribution::Distribution;

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
                      2 wrong arguments; 8 requests in flight were lost because server.drain_seconds had passed."
    )]
    Serve(Box<serve::Serve>),
    /// Check the configuration, and have a running host reload it.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed, or the file has errors; 2 wrong arguments; of show, reload and undo \
                      also: 3 the host refuses the configuration and keeps the old one; 4 there is nothing to undo, or \
                      someone else has changed a slot; 5 not allowed; 6 no answer from the host; 7 the shared \
                      state cannot be reached."
    )]
    Config(config::Command),
    /// Make, check and call components, and change which versions answer on a running host.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 the component may not answer; 4 the slot has \
                      another generation, or its state does not allow this; 5 not allowed, or the registry is not; 6 no answer \
                      from the host; 7 the shared state cannot be reached; of call also: 9 the export answered with \
                      an error; 10 it trapped or exceeded a limit."
    )]
    Component(component::Command),
    /// Write the interfaces that components are built against, and compare versions of them.
    #[command(subcommand)]
    Wit(WitCommand),
    /// Carry components, models and the configuration to a site without a network, in one signed file.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed, or the bundle is refused; 2 wrong arguments."
    )]
    Bundle(bundle::Command),
    /// Make tokens for operators, and read the audit log.
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 5 not allowed; 6 no answer from the host."
    )]
    Admin(admin::Command),
    /// Ask a running host whether it is ready. Needs no token.
    #[command(
        after_help = "Exit codes: 0 ready, or with --live it runs; 1 not ready; 2 wrong arguments; 6 no answer from the \
                      host within 5 seconds."
    )]
    Health(health::HealthArgs),
    /// Check what a host needs: kernel, limits, disk, clock, certificates, ports, models, configuration and data folder. Says
    /// what to do about what is missing.
    ///
    /// Nothing is started, and nothing is kept. Limits are those of the running host of the data folder; if there is not one,
    /// those of this command: run it as the host is run.
    #[command(
        after_help = "Exit codes: 0 a host has what it needs; 1 a host starts, but something is to be corrected; 2 wrong \
                      arguments; 3 no host can start or keep its data."
    )]
    Doctor(doctor::DoctorArgs),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of all commands.
    Man(manual::ManualArgs),
}

/// Returns the command line of a binary, for parsers and completions.
pub fn command(distribution: &Distribution) -> clap::Command {
    arguments::command(Arguments::command(), distribution)
}

/// Runs the command line of a binary, or a compilation that a host has started this process for; errors go to standard
/// error, one problem a line.
pub fn run(distribution: &Distribution) -> ExitCode {
    #[cfg(feature = "compiler")]
    if let Some(compiled) = bulkhead_runtime::compile::compile_if_asked() {
        return compiled;
    }
    match perform(distribution) {
        Ok(()) => {
            logs::write_last("");
            ExitCode::SUCCESS
        }
        Err(error) if matches!(error.downcast_ref(), Some(output::OutputError::Closed)) => ExitCode::SUCCESS,
        Err(error) => {
            // The log has a line for lost requests already, and programs may read the log.
            let is_logged = error.is::<exit::RequestsLost>();
            let text = if is_logged {
                String::new()
            } else {
                format!("{}: {}\n", distribution.name, message(&error))
            };
            logs::write_last(&text);
            exit::Exit::of(&error).into()
        }
    }
}

/// Runs the command that the arguments of this process name, or ends the process where they are wrong.
fn perform(distribution: &Distribution) -> anyhow::Result<()> {
    let given = command(distribution).get_matches();
    if let Some((command, given)) = arguments::of_service(distribution, &given) {
        return command.run(given, &distribution.spec());
    }
    let arguments = Arguments::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    match arguments.command {
        Command::Serve(serve) => serve.run(distribution, arguments::serve_flags(distribution, &given)?),
        Command::Config(command) => command.run(distribution),
        Command::Component(command) => command.run(distribution),
        Command::Wit(command) => author::finish(command.run(&distribution.for_authors())),
        Command::Bundle(command) => command.run(distribution),
        Command::Admin(command) => command.run(),
        Command::Health(health) => health.run(),
        Command::Doctor(doctor) => doctor.run(distribution),
        Command::Man(manual) => manual.run(distribution),
        Command::Completions { shell } => completions(distribution, shell),
    }
}

/// Returns the text of an error and its causes, without causes that an earlier text contains and without the numbers
/// of the operating system.
fn message(error: &anyhow::Error) -> String {
    let message =
        error.chain().map(ToString::to_string).fold(String::new(), |message, cause| match message.as_str() {
            "" => cause,
            before if before.contains(&cause) => message,
            before => format!("{before}: {cause}"),
        });
    without_numbers(&message)
}

/// Returns a text without the numbers of the operating system's errors.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text + rest,
        _ => format!("{text} (os error {part}"),
    })
}

/// Returns the parser of a number of lines to ask a host for.
fn lines() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=10_000)
}

fn completions(distribution: &Distribution, shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(distribution), distribution.name, &mut script);
    Ok(output::text(String::from_utf8_lossy(&script))?)
}
