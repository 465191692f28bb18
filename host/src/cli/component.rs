//! `bulkhead component`: checks components, and operates the slots of a running host.

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
    Subcommand,
    builder::{PathBufValueParser, TypedValueParser},
};

use super::{Configuration, exit::UsageError, output};
use crate::{
    config::{Config, registries::Reference, slots::SlotId},
    distribution::Distribution,
    host::Host,
    registry::{Pulled, Registries},
    slots,
};

/// `bulkhead component`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check a component as the host does before it may answer, self-test included. Prints everything that is wrong and
    /// how to correct it, and warns of deprecated imports. Nothing is served or stored.
    Check {
        /// The slot that it is for.
        #[arg(long, value_parser = SlotId::parse)]
        slot: SlotId,
        /// The component: a file, or an oci:// reference that the configuration allows.
        #[arg(value_parser = named())]
        file: PathBuf,
        #[command(flatten)]
        configuration: Configuration,
    },
    #[command(flatten)]
    Operate(operate::Command),
}

impl Command {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        let (slot, file, configuration) = match self {
            Self::Check { slot, file, configuration } => (slot, file, configuration),
            Self::Operate(command) => return command.run(),
        };
        let config = configuration.load(distribution, Vec::new())?.config;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (wasm, name) = match reference(&file) {
            Some(reference) => runtime.block_on(pull(&config, reference))?,
            None => {
                let wasm = slots::read_component(&file, config.sandbox.component_bytes)?;
                (wasm, file.display().to_string())
            }
        };
        for (import, now) in deprecated_imports(distribution, &wasm) {
            output::line(format_args!("warning: {name} imports {import}, which is deprecated; use {now}"))?;
        }
        let digest = runtime.block_on(Host::check_component(distribution, config, slot, wasm))?;
        Ok(output::line(format_args!("{name} may answer for slot {slot}: {digest}"))?)
    }
}

/// Returns each import of a component whose name is deprecated, with the name to use instead.
fn deprecated_imports(distribution: &Distribution, wasm: &[u8]) -> Vec<(String, String)> {
    let capabilities = distribution.capabilities();
    // The check that follows refuses bytes that are not a component.
    let imports = slots::outline(wasm).map(|outline| outline.imports).unwrap_or_default();
    let named = imports.into_iter().map(|import| (capabilities.named_now(&import), import));
    named.filter(|(now, import)| now != import).map(|(now, import)| (import, now)).collect()
}

/// Returns the parser of a component's file name or reference.
fn named() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|file: PathBuf| match reference(&file).map(Reference::parse) {
        Some(Err(text)) => Err(text),
        Some(Ok(_)) | None => Ok(file),
    })
}

/// Returns the reference if a reference is given instead of a file.
fn reference(file: &Path) -> Option<&str> {
    file.to_str().filter(|name| Reference::is_reference(name))
}

/// Returns the path of a slot in the operators' API, with `rest` after it.
fn slot_path(slot: SlotId, rest: &str) -> String {
    format!("/v1/slots/{slot}{rest}")
}

/// Pulls a component; returns it with its reference by digest.
async fn pull(config: &Config, reference: &str) -> anyhow::Result<(Arc<[u8]>, String)> {
    let reference =
        Reference::parse(reference).map_err(|text| UsageError(format!("the reference {text}")))?;
    let (allowed, cap) = (config.registries.clone(), config.sandbox.component_bytes);
    let Pulled { wasm, reference, .. } =
        Registries::new(allowed, cap, env::temp_dir()).pull(&reference).await?;
    Ok((wasm, reference.to_string()))
}
