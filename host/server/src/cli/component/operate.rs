//! The subcommands of `bulkhead component` that operate a running host.

use std::path::PathBuf;

use anyhow::Context as _;
use bulkhead_cli::{RemoteError, client::Remote, output};
use bulkhead_config::slots::SlotId;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{export::export, named, push::push, show, slot_path};
use crate::cli::lines;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// List the slots of a running host with their versions.
    List {
        #[command(flatten)]
        remote: Remote,
    },
    /// Show which versions answer for a slot.
    Show {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        remote: Remote,
    },
    /// Push a component, check it and run its self-test, so that it can be swapped in. A file is sent with its signature FILE.minisig,
    /// if there is one.
    Push {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// The component: a file, or an oci:// reference that the host pulls.
        #[arg(value_parser = named())]
        file: PathBuf,
        #[command(flatten)]
        remote: Remote,
    },
    /// Write a version's component to a file.
    Export {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// The first 8 or more digits of a version's id or of its component's digest, or `embedded` for the embedded
        /// component, which is part of the host's binary [default: the active version].
        version: Option<String>,
        /// The file, or - for standard output.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        remote: Remote,
    },
    /// Have a version answer every call. A candidate is removed.
    Swap {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        version: VersionArg,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Have a version, or the present candidate, answer a share of the calls.
    Canary {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// Its share, percent.
        #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
        weight: u8,
        #[command(flatten)]
        version: OptionalVersionArg,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Have a version get copies of the calls and answer none. Without a version or a file, show how its answers differ.
    Shadow {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        version: OptionalVersionArg,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Have the candidate answer every call.
    Promote {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Remove the candidate. Without one, return to the previous version.
    Rollback {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Show the versions of a slot and their stages.
    History {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        remote: Remote,
    },
    /// Show how two versions of a slot differ: world, imports, exports, size, grants, limits, configuration.
    Diff {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// The first 8 or more digits of a version's id or of its component's digest.
        a: String,
        /// The other version.
        b: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Show the last lines of a slot's log.
    Logs {
        /// A slot of the host, as `component list` shows it.
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// How many lines.
        #[arg(long, default_value_t = 100, value_parser = lines())]
        lines: u16,
        #[command(flatten)]
        remote: Remote,
    },
}

/// Names a version: one that the host knows, or a component to push.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct VersionArg {
    /// The first 8 or more digits of a version's id or of its component's digest, or `embedded` for the embedded
    /// component, which is part of the host's binary.
    version: Option<String>,
    /// A component, file or oci:// reference, which is pushed first.
    #[arg(long, value_parser = named())]
    file: Option<PathBuf>,
}

/// Names a version, a component to push, or neither.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(in crate::cli) struct OptionalVersionArg {
    /// The first 8 or more digits of a version's id or of its component's digest, or `embedded` for the embedded
    /// component, which is part of the host's binary.
    version: Option<String>,
    /// A component, file or oci:// reference, which is pushed first.
    #[arg(long, value_parser = named())]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ChangeArgs {
    /// Why, for the audit log.
    #[arg(long, default_value = "")]
    reason: String,
    /// Make the change only if the slot has this generation [default: its latest when the command starts].
    #[arg(long)]
    generation: Option<u64>,
    #[command(flatten)]
    remote: Remote,
}

impl Command {
    pub(in crate::cli) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List { remote } => print(&remote, &remote.get("/v1/slots")?, show::slots),
            Self::Show { slot, remote } => print(&remote, &remote.get(&slot_path(slot, ""))?, show::slot),
            Self::History { slot, remote } => {
                print(&remote, &remote.get(&slot_path(slot, "/history"))?, show::versions)
            }
            Self::Diff { slot, a, b, remote } => {
                let query: String = form_urlencoded::Serializer::new(String::new())
                    .append_pair("a", &a)
                    .append_pair("b", &b)
                    .finish();
                print(&remote, &remote.get(&slot_path(slot, &format!("/diff?{query}")))?, show::diff)
            }
            Self::Logs { slot, lines, remote } => {
                let lines = format!("/logs?limit={lines}");
                print(&remote, &remote.get(&slot_path(slot, &lines))?, show::lines)
            }
            Self::Push { slot, file, remote } => print(&remote, &push(&remote, slot, &file)?, show::version),
            Self::Export { slot, version, output, remote } => {
                export(&remote, slot, version.as_deref(), &output)
            }
            Self::Swap { slot, version: VersionArg { version, file }, change } => {
                change.make(slot, "swap", json!({}), version, file)
            }
            Self::Canary { slot, weight, version: OptionalVersionArg { version, file }, change } => {
                change.make(slot, "canary", json!({ "weight": weight }), version, file)
            }
            Self::Shadow {
                slot,
                version: OptionalVersionArg { version: None, file: None },
                change: ChangeArgs { remote, .. },
            } => print(&remote, &remote.get(&slot_path(slot, "/shadow"))?, show::shadow),
            Self::Shadow { slot, version: OptionalVersionArg { version, file }, change } => {
                change.make(slot, "shadow", json!({}), version, file)
            }
            Self::Promote { slot, change } => change.make(slot, "promote", json!({}), None, None),
            Self::Rollback { slot, change } => change.make(slot, "rollback", json!({}), None, None),
        }
    }
}

impl ChangeArgs {
    fn make(
        &self,
        slot: SlotId,
        what: &str,
        mut body: Value,
        version: Option<String>,
        file: Option<PathBuf>,
    ) -> anyhow::Result<()> {
        // Read before the push, so that a change by someone else during the push is a conflict.
        let generation = match self.generation {
            Some(generation) => generation,
            None => latest_generation(&self.remote, slot)?,
        };
        let pushed = file.map(|file| push(&self.remote, slot, &file)).transpose()?;
        let pushed = pushed.as_ref().and_then(|version| version.get("id")).and_then(Value::as_str);
        if let Some(members) = body.as_object_mut() {
            members.insert("generation".into(), generation.into());
            members.insert("reason".into(), self.reason.as_str().into());
            let version = pushed.map(str::to_owned).or(version);
            members.extend(version.map(|version| ("version".to_owned(), version.into())));
        }
        let answer = match self.remote.post(&slot_path(slot, &format!("/{what}")), &body) {
            // The slot is in the state that was asked for.
            Err(error) if what == "swap" && RemoteError::is_answering(&error) => {
                output::stderr_line("it answers already, and nothing has changed");
                self.remote.get(&slot_path(slot, ""))?
            }
            answer => answer?,
        };
        print(&self.remote, &answer, show::slot)
    }
}

/// Asks for the generation that a change must name.
fn latest_generation(remote: &Remote, slot: SlotId) -> anyhow::Result<u64> {
    latest(&remote.get(&slot_path(slot, ""))?).context("the host's answer has no generation")
}

/// Returns the latest generation of a slot, which a host that still compiles the versions that hosts share does not have
/// yet.
fn latest(slot: &Value) -> Option<u64> {
    let number = |pointer| slot.pointer(pointer).and_then(Value::as_u64);
    number("/generation").max(number("/shared/desired"))
}

/// Prints an answer: as JSON if that was asked for, else by `human`.
fn print(
    remote: &Remote,
    answer: &Value,
    human: impl FnOnce(&Value) -> Result<(), output::OutputError>,
) -> anyhow::Result<()> {
    let printed = if remote.json { output::json(answer) } else { human(answer) };
    Ok(printed?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_name_the_latest_generation() {
        for (slot, generation) in [
            (json!({ "generation": 5 }), Some(5)),
            (json!({ "generation": 5, "shared": { "desired": 6 } }), Some(6)),
            (json!({ "generation": 5, "shared": { "desired": null } }), Some(5)),
            (json!({ "generation": 7, "shared": { "desired": 6 } }), Some(7)),
            (json!({}), None),
        ] {
            assert_eq!(latest(&slot), generation, "{slot}");
        }
    }
}
