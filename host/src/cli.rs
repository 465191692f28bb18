//! The command line.

mod captcha;
mod component;
mod config;
mod demo;
mod model;
mod output;
mod serve;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    config::{Flag, Loaded, Sources, load},
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
    Serve(Box<serve::Serve>),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Get embedding models and look at them.
    #[command(subcommand)]
    Model(model::Command),
    /// Look at components.
    #[command(subcommand)]
    Component(component::Command),
    /// Make up data to try services with.
    #[command(subcommand)]
    Demo(demo::Command),
    /// Move to Bulkhead from a captcha service.
    #[command(subcommand)]
    Captcha(captcha::Command),
}

/// Names the configuration file.
const CONFIG_VARIABLE: &str = "BULKHEAD_CONFIG";

/// Where the configuration comes from.
#[derive(Debug, clap::Args)]
struct Configuration {
    /// TOML file; without one the defaults hold. `BULKHEAD_*` variables win over it, flags over those.
    #[arg(long, value_name = "FILE", env = CONFIG_VARIABLE)]
    config: Option<PathBuf>,
}

impl Configuration {
    fn load(&self, flags: Vec<Flag>) -> anyhow::Result<Loaded> {
        let mut sources = Sources::of_process(self.config.as_deref(), flags)?;
        // The flag's own variable, not a key.
        sources.environment.retain(|(name, _)| name != CONFIG_VARIABLE);
        Ok(load(sources)?)
    }
}

/// Runs the command line; errors go to standard error, one problem a line.
pub fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Serve(serve) => serve.run(),
        Command::Config(command) => command.run(),
        Command::Model(command) => command.run(),
        Command::Component(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Captcha(command) => command.run(),
    };
    match result {
        Ok(()) => {
            logs::end("");
            ExitCode::SUCCESS
        }
        Err(error) if matches!(error.downcast_ref(), Some(output::OutputError::Closed)) => ExitCode::SUCCESS,
        Err(error) => {
            logs::end(&format!("bulkhead: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}
