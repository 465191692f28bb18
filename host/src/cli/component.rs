mod export;
mod operate;
mod push;
mod show;

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{
    Subcommand, ValueEnum,
    builder::{PathBufValueParser, TypedValueParser},
};

use super::{Configuration, exit::Misuse, output};
use crate::{
    config::{Config, registries::Reference, slots::SlotId},
    host::Host,
    registry::{Pulled, Registries},
    services::{capabilities, list},
    slots,
};

/// `bulkhead component`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check a component as the host would before it may answer, self-test included; says everything that is
    /// wrong and how to mend it, and warns of imports that are deprecated. Nothing is served or kept.
    Check {
        /// The slot that it is for.
        #[arg(long)]
        slot: Slot,
        /// The component: a file, or an oci:// reference that the configuration allows.
        #[arg(value_parser = named())]
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

impl From<Slot> for SlotId {
    fn from(slot: Slot) -> Self {
        match slot {
            Slot::Triage => list::TRIAGE,
            Slot::Answer => list::ANSWER,
            Slot::Status => list::STATUS,
            Slot::Captcha => list::CAPTCHA,
        }
    }
}

impl Slot {
    /// The name in paths.
    pub(super) fn as_str(self) -> &'static str {
        SlotId::from(self).as_str()
    }
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let (slot, file, configuration) = match self {
            Self::Check { slot, file, configuration } => (slot, file, configuration),
            Self::Operate(command) => return command.run(),
        };
        let config = configuration.load(Vec::new())?.config;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (wasm, name) = match reference(&file) {
            Some(reference) => runtime.block_on(pull(&config, reference))?,
            None => {
                let wasm = slots::read_component(&file, config.sandbox.component_bytes)?;
                (wasm, file.display().to_string())
            }
        };
        for (import, now) in deprecated_imports(&wasm) {
            output::line(format_args!("warning: {name} imports {import}, which is deprecated; use {now}"))?;
        }
        let slot = SlotId::from(slot);
        let digest = runtime.block_on(Host::check_component(config, slot, wasm))?;
        let slot = slot.as_str();
        Ok(output::line(format_args!("{name} may answer for slot {slot}: {digest}"))?)
    }
}

/// Returns each import of a component whose name is deprecated, with the name to use instead.
fn deprecated_imports(wasm: &[u8]) -> Vec<(String, String)> {
    let capabilities = capabilities::all();
    // What is no component is refused with the reason.
    let imports = slots::outline(wasm).map(|outline| outline.imports).unwrap_or_default();
    let named = imports.into_iter().map(|import| (capabilities.named_now(&import), import));
    named.filter(|(now, import)| now != import).map(|(now, import)| (import, now)).collect()
}

/// A file's name, or a reference that is one.
fn named() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|file: PathBuf| match reference(&file).map(Reference::parse) {
        Some(Err(text)) => Err(text),
        Some(Ok(_)) | None => Ok(file),
    })
}

/// The reference that stands where a file may.
fn reference(file: &Path) -> Option<&str> {
    file.to_str().filter(|name| Reference::is_reference(name))
}

/// A component and the reference that it goes by from now on.
async fn pull(config: &Config, reference: &str) -> anyhow::Result<(Arc<[u8]>, String)> {
    let reference = Reference::parse(reference).map_err(|text| Misuse(format!("the reference {text}")))?;
    let (allowed, cap) = (config.registries.clone(), config.sandbox.component_bytes);
    let Pulled { wasm, reference, .. } =
        Registries::new(allowed, cap, env::temp_dir()).pull(&reference).await?;
    Ok((wasm, reference.to_string()))
}
