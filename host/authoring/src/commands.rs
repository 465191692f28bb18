//! The subcommands for authors, and their arguments.

use std::{collections::BTreeMap, path::PathBuf};

use bulkhead_config::server::{AccessLog, Log, LogFormat};
use bulkhead_telemetry::logs;
use clap::{Args, Subcommand};
use tracing::Level;

use crate::{
    component::{fit, inspection::ComponentInspection},
    platform::AuthorPlatform,
    report::{AuthoringFailure, CommandReport},
    run::{call, cases, program::Overrides},
    scaffold,
    wit::{
        diff,
        packages::{self, Packages},
    },
};

/// Subcommands of `component` for authors. They need no host and no configuration.
#[derive(Debug, Subcommand)]
pub enum AuthorCommand {
    /// Show what a component is made of: the world that it fits, its imports and which of them the slot has, its
    /// exports, its size by part, and what an instance uses.
    Inspect {
        /// The component.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Call an export of a component, without a host. Clocks, random numbers, logging, configuration and the stubs work;
    /// `bulkhead:host/keys` answers with an error, because there are no keys; a call of anything else ends with a trap.
    /// The answer is printed in WAVE. A `wasi:http` component is not called but served.
    #[command(
        after_help = "Exit codes: 0 answered; 1 failed; 2 wrong arguments, or there is no such export; 3 not a component; \
                      9 answered with an error; 10 trapped, or exceeded a limit."
    )]
    Call {
        /// The component.
        file: PathBuf,
        /// The function: `self-test`, or `package:name/interface#function` with or without version.
        export: String,
        /// Its arguments in WAVE, such as `7`, `"text"` (with its quotes), `some(7)`, `{key: "shop", count: 1}`.
        #[arg(allow_negative_numbers = true)]
        arguments: Vec<String>,
        /// Configuration and limits of the call.
        #[command(flatten)]
        settings: CallSettings,
    },
    /// Run the cases of a file against a component, each in a fresh instance, without a host.
    #[command(
        after_help = "A case is a line of JSON: {\"export\": \"self-test\", \"arguments\": [], \"answer\": \"ok\"}. In place of \
                      answer it may have error (the payload of the error) or trap (a part of its text).\n\
                      Exit codes: 0 every case passed; 1 a case failed; 2 wrong arguments, or a line is wrong; 3 not a component."
    )]
    Test {
        /// The component.
        file: PathBuf,
        /// The cases.
        #[arg(long, value_name = "FILE")]
        cases: PathBuf,
        /// Configuration and limits of the call.
        #[command(flatten)]
        settings: CallSettings,
    },
    /// Write the folder of a new component that builds, with its WIT, a test and a README.
    New {
        /// Its name: lower-case letters, digits and single dashes.
        name: String,
        /// The language: rust, python, javascript or c.
        #[arg(long)]
        lang: String,
        /// The world, such as http or wasi:http/proxy. One without a template is refused with the list of those that have one.
        #[arg(long)]
        world: String,
        /// The folder, which must be empty or not there; the name if it is not given.
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
}

/// Settings that a slot's configuration has; the defaults are those of the slot whose world the component fits.
#[derive(Debug, Args)]
pub struct CallSettings {
    /// What the component reads through `wasi:config/store`, or as its environment; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    config: Vec<(String, String)>,
    /// As `slots.NAME.memory_bytes`.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(65_536..))]
    memory_bytes: Option<u32>,
    /// As `slots.NAME.table_elements`.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=10_000_000))]
    table_elements: Option<u32>,
    /// As `slots.NAME.cpu_ms`.
    #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    cpu_ms: Option<u64>,
    /// As `slots.NAME.deadline_ms`.
    #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    deadline_ms: Option<u64>,
}

/// Reads `KEY=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("give it as KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl From<CallSettings> for Overrides {
    fn from(settings: CallSettings) -> Self {
        Self {
            config: settings.config.into_iter().collect::<BTreeMap<_, _>>(),
            memory_bytes: settings.memory_bytes.map(|bytes| bytes as usize),
            table_elements: settings.table_elements.map(|elements| elements as usize),
            cpu_ms: settings.cpu_ms,
            deadline_ms: settings.deadline_ms,
        }
    }
}

/// Starts to write what components log to standard error.
fn start_log() {
    // The error means that logging has started already.
    let _ = logs::init(Log { format: LogFormat::Human, level: Level::INFO, access: AccessLog::Off });
}

impl AuthorCommand {
    /// Runs the command. The process must be able to compile components.
    ///
    /// # Errors
    /// When a file cannot be read or written, or an argument is wrong.
    pub async fn run(self, platform: &AuthorPlatform) -> anyhow::Result<CommandReport> {
        match self {
            Self::Inspect { file, json } => {
                let (wasm, outline) = fit::read(&file)?;
                let found = ComponentInspection::new(platform, &wasm, outline)?;
                Ok(CommandReport::done(if json { format!("{:#}\n", found.json()) } else { found.text() }))
            }
            Self::Call { file, export, arguments, settings } => {
                start_log();
                call::call(platform, &file, &export, &arguments, settings.into()).await
            }
            Self::Test { file, cases, settings } => {
                start_log();
                cases::test(platform, &file, &cases, settings.into()).await
            }
            Self::New { name, lang, world, dir } => {
                let folder = dir.unwrap_or_else(|| PathBuf::from(&name));
                scaffold::create(platform, &name, &lang, &world, &folder)
            }
        }
    }
}

/// `wit`: the interfaces of the host.
#[derive(Debug, Subcommand)]
pub enum WitCommand {
    /// Write the WIT that this binary speaks, as binding generators take it: the package of a world, and those that it
    /// uses, or that its components may import as well, under `deps`. Without a world, each package for components in a
    /// folder of its own.
    Export {
        /// The folder, which must be empty or not there.
        dir: PathBuf,
        /// The world, such as `http` or `wasi:http/proxy`. A name that no world has is refused with the list of all.
        #[arg(long)]
        world: Option<String>,
        /// Replace files that are there.
        #[arg(long)]
        force: bool,
    },
    /// Say whether components that were built against an old version of a package still fit a new one, and what breaks
    /// them.
    #[command(
        after_help = "Exit codes: 0 they fit; 1 failed, for example because a package cannot be read; 2 wrong arguments; \
                      3 they do not fit."
    )]
    Diff {
        /// The old version: a folder with `deps`, or a file.
        old: PathBuf,
        /// The new version.
        new: PathBuf,
    },
}

impl WitCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// When a file cannot be read or written, or an argument is wrong.
    pub fn run(self, platform: &AuthorPlatform) -> anyhow::Result<CommandReport> {
        match self {
            Self::Export { dir, world, force } => export(platform, dir, world.as_deref(), force),
            Self::Diff { old, new } => {
                let found = diff::compare(&old, &new)?;
                let added: String = found.additions.iter().map(|line| format!("new: {line}\n")).collect();
                if found.breaks.is_empty() {
                    return Ok(CommandReport::done(format!(
                        "{added}components that were built before still fit\n"
                    )));
                }
                let broken: String = found.breaks.iter().map(|line| format!("breaks: {line}\n")).collect();
                let text = "components that were built before do not fit the new version".to_owned();
                Ok(CommandReport::failed(added + &broken, AuthoringFailure::Breaks(text)))
            }
        }
    }
}

fn export(
    platform: &AuthorPlatform,
    folder: PathBuf,
    world: Option<&str>,
    replaces: bool,
) -> anyhow::Result<CommandReport> {
    let wit = Packages::of(platform)?;
    let (files, what) = match world {
        Some(world) => {
            let world = wit.world(world).map_err(|error| AuthoringFailure::Usage(error.to_string()))?;
            let offered = wit.offered(platform, world);
            let (package, used) = wit.names(world, &offered);
            (wit.files(world, &offered), format!("{package}, with {}", used.join(", ")))
        }
        None => (wit.all_files(platform), wit.all_names(platform).join(", ")),
    };
    let count = packages::write(&folder, files, replaces)?;
    Ok(CommandReport::done(format!("wrote {count} files to {}: {what}\n", folder.display())))
}
