mod operate;
mod show;

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::{Configuration, output};
use crate::{config::slots::SlotName, host::Host, slots};

/// `bulkhead component`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check a component file as the host would before it may answer, self-test included; says everything
    /// that is wrong and how to mend it. Nothing is served or written.
    Check {
        /// The slot that it is for.
        #[arg(long)]
        slot: Slot,
        /// The component.
        file: PathBuf,
        #[command(flatten)]
        configuration: Configuration,
    },
    #[command(flatten)]
    Operate(operate::Command),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Slot {
    Triage,
    Answer,
    Status,
    Captcha,
}

impl From<Slot> for SlotName {
    fn from(slot: Slot) -> Self {
        match slot {
            Slot::Triage => Self::Triage,
            Slot::Answer => Self::Answer,
            Slot::Status => Self::Status,
            Slot::Captcha => Self::Captcha,
        }
    }
}

impl Slot {
    /// The name in paths.
    pub(super) fn as_str(self) -> &'static str {
        SlotName::from(self).as_str()
    }
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let (slot, file, configuration) = match self {
            Self::Check { slot, file, configuration } => (slot, file, configuration),
            Self::Operate(command) => return command.run(),
        };
        let config = configuration.load(Vec::new())?.config;
        let wasm = slots::read_component(&file, config.sandbox.component_bytes)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let slot = SlotName::from(slot);
        let digest = runtime.block_on(Host::check_component(config, slot, wasm))?;
        let (file, slot) = (file.display(), slot.as_str());
        Ok(output::line(format_args!("{file} may answer for slot {slot}: {digest}"))?)
    }
}
