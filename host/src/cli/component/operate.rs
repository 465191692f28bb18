//! Commands to a running host.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{export::export, named, push::push, show};
use crate::{
    cli::{
        client::{Failure, Remote},
        lines, output,
    },
    config::slots::SlotId,
};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// List the slots of a running host and what answers.
    List {
        #[command(flatten)]
        remote: Remote,
    },
    /// Show what answers for a slot.
    Show {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        remote: Remote,
    },
    /// Push a component up to its trial, so that it can be swapped in; a file with FILE.minisig where it is there.
    Push {
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
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// The first 8 or more digits of a version's id or of its component's digest, or `embedded` for the component that
        /// is part of the host's binary [default: the version that answers].
        version: Option<String>,
        /// The file, or - for standard output.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        remote: Remote,
    },
    /// Have a version answer every call; a candidate is given up.
    Swap {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        change: Change,
    },
    /// Have a version, or the candidate that there is, answer a share of the calls.
    Canary {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// Its share, percent.
        #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
        weight: u8,
        #[command(flatten)]
        which: MaybeWhich,
        #[command(flatten)]
        change: Change,
    },
    /// Have a version get copies of the calls and answer none; without a version or a file, show how its answers differ.
    Shadow {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        which: MaybeWhich,
        #[command(flatten)]
        change: Change,
    },
    /// Have the candidate answer every call.
    Promote {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        change: Change,
    },
    /// Give up the candidate, or else go back to the version that answered before.
    Rollback {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        change: Change,
    },
    /// Show the versions of a slot and what became of them.
    History {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        #[command(flatten)]
        remote: Remote,
    },
    /// Show in what two versions of a slot differ: world, imports, exports, size, grants, limits, configuration.
    Diff {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// The first 8 or more digits of a version's id or of its component's digest.
        a: String,
        /// The other.
        b: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Show the last lines of a slot's log.
    Logs {
        #[arg(value_parser = SlotId::parse)]
        slot: SlotId,
        /// How many.
        #[arg(long, default_value_t = 100, value_parser = lines())]
        lines: u16,
        #[command(flatten)]
        remote: Remote,
    },
}

/// A version: one that the host knows, or a component to push.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct Which {
    /// The first 8 or more digits of a version's id or of its component's digest, or `embedded` for the component that
    /// is part of the host's binary.
    version: Option<String>,
    /// A component, file or oci:// reference, which is pushed first.
    #[arg(long, value_parser = named())]
    file: Option<PathBuf>,
}

/// The same, or nothing.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(in crate::cli) struct MaybeWhich {
    /// The first 8 or more digits of a version's id or of its component's digest, or `embedded` for the component that
    /// is part of the host's binary.
    version: Option<String>,
    /// A component, file or oci:// reference, which is pushed first.
    #[arg(long, value_parser = named())]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Change {
    /// Why, for the audit log.
    #[arg(long, default_value = "")]
    reason: String,
    /// Only if the slot has this generation [default: the one that it should have when the command starts].
    #[arg(long)]
    generation: Option<u64>,
    #[command(flatten)]
    remote: Remote,
}

impl Command {
    pub(in crate::cli) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List { remote } => shown(&remote, &remote.get("/v1/slots")?, show::slots),
            Self::Show { slot, remote } => shown(&remote, &remote.get(&path(slot, ""))?, show::slot),
            Self::History { slot, remote } => {
                shown(&remote, &remote.get(&path(slot, "/history"))?, show::versions)
            }
            Self::Diff { slot, a, b, remote } => {
                let query: String = form_urlencoded::Serializer::new(String::new())
                    .append_pair("a", &a)
                    .append_pair("b", &b)
                    .finish();
                shown(&remote, &remote.get(&path(slot, &format!("/diff?{query}")))?, show::diff)
            }
            Self::Logs { slot, lines, remote } => {
                let lines = format!("/logs?limit={lines}");
                shown(&remote, &remote.get(&path(slot, &lines))?, show::lines)
            }
            Self::Push { slot, file, remote } => shown(&remote, &push(&remote, slot, &file)?, show::version),
            Self::Export { slot, version, output, remote } => {
                export(&remote, slot, version.as_deref(), &output)
            }
            Self::Swap { slot, which: Which { version, file }, change } => {
                change.make(slot, "swap", json!({}), version, file)
            }
            Self::Canary { slot, weight, which: MaybeWhich { version, file }, change } => {
                change.make(slot, "canary", json!({ "weight": weight }), version, file)
            }
            Self::Shadow {
                slot,
                which: MaybeWhich { version: None, file: None },
                change: Change { remote, .. },
            } => shown(&remote, &remote.get(&path(slot, "/shadow"))?, show::shadow),
            Self::Shadow { slot, which: MaybeWhich { version, file }, change } => {
                change.make(slot, "shadow", json!({}), version, file)
            }
            Self::Promote { slot, change } => change.make(slot, "promote", json!({}), None, None),
            Self::Rollback { slot, change } => change.make(slot, "rollback", json!({}), None, None),
        }
    }
}

impl Change {
    fn make(
        &self,
        slot: SlotId,
        what: &str,
        mut body: Value,
        version: Option<String>,
        file: Option<PathBuf>,
    ) -> anyhow::Result<()> {
        // Before the component is pushed: whoever changes the slot meanwhile wins.
        let generation = match self.generation {
            Some(generation) => generation,
            None => seen(&self.remote, slot)?,
        };
        let pushed = file.map(|file| push(&self.remote, slot, &file)).transpose()?;
        let pushed = pushed.as_ref().and_then(|version| version.get("id")).and_then(Value::as_str);
        if let Some(members) = body.as_object_mut() {
            members.insert("generation".into(), generation.into());
            members.insert("reason".into(), self.reason.as_str().into());
            let version = pushed.map(str::to_owned).or(version);
            members.extend(version.map(|version| ("version".to_owned(), version.into())));
        }
        let answer = match self.remote.post(&path(slot, &format!("/{what}")), &body) {
            // It is as it was to be.
            Err(error) if what == "swap" && Failure::is_answering(&error) => {
                output::aside("it answers already, and nothing has changed");
                self.remote.get(&path(slot, ""))?
            }
            answer => answer?,
        };
        shown(&self.remote, &answer, show::slot)
    }
}

fn seen(remote: &Remote, slot: SlotId) -> anyhow::Result<u64> {
    latest(&remote.get(&path(slot, ""))?).context("the host's answer has no generation")
}

/// The generation that a slot should have: a host that compiles what all should have does not have it yet.
fn latest(slot: &Value) -> Option<u64> {
    let number = |pointer| slot.pointer(pointer).and_then(Value::as_u64);
    number("/generation").max(number("/shared/desired"))
}

/// The path of something of a slot.
pub(super) fn path(slot: SlotId, rest: &str) -> String {
    format!("/v1/slots/{slot}{rest}")
}

fn shown(
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
