//! `bulkhead component`: checks components, and operates the slots of a running host.

#[cfg(feature = "compiler")]
mod compile;
mod export;
mod operate;
mod push;
mod show;

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use bulkhead_authoring::AuthorCommand;
use bulkhead_cli::{Configuration, exit::UsageError, output};
use bulkhead_config::{
    Config,
    registries::Reference,
    slots::{SlotId, SlotSettings},
};
use bulkhead_registry::{PulledComponent, Registries};
use bulkhead_runtime::{capabilities::CapabilitySet, slots};
use clap::{
    Subcommand,
    builder::{PathBufValueParser, TypedValueParser},
};

use super::{arguments::CONFIGURED_SLOT, author};
use crate::{distribution::Distribution, host::Host};

/// `bulkhead component`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check a component as the host does before it may answer, self-test included. Prints everything that is wrong and
    /// how to correct it, warns of deprecated imports, and lists the stubs. Nothing is served, and only compiled code is
    /// stored.
    Check {
        /// The slot that it is for. Without one, the command only says which world the component fits.
        #[arg(id = CONFIGURED_SLOT, long = "slot", value_name = "SLOT", value_parser = SlotId::parse)]
        slot: Option<SlotId>,
        /// The component: a file, or an oci:// reference that the configuration allows.
        #[arg(value_parser = named())]
        file: PathBuf,
        #[command(flatten)]
        configuration: Configuration,
    },
    /// Compile a component for a machine and sign it, as a pack: hosts load its code without compiling it, those without a
    /// compiler too. Only a host with the same version of this program takes it.
    #[cfg(feature = "compiler")]
    Compile(compile::CompileArgs),
    #[command(flatten)]
    Author(AuthorCommand),
    #[command(flatten)]
    Operate(operate::Command),
}

impl Command {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        let (slot, file, configuration) = match self {
            Self::Check { slot: Some(slot), file, configuration } => (slot, file, configuration),
            Self::Check { slot: None, file, .. } if reference(&file).is_some() => {
                return Err(
                    UsageError("a reference is checked for a slot; name it with --slot".to_owned()).into()
                );
            }
            Self::Check { slot: None, file, .. } => {
                return author::finish(bulkhead_authoring::check(&distribution.for_authors(), &file));
            }
            #[cfg(feature = "compiler")]
            Self::Compile(arguments) => return arguments.run(distribution),
            Self::Author(command) => {
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
                return author::finish(runtime.block_on(command.run(&distribution.for_authors())));
            }
            Self::Operate(command) => return command.run(),
        };
        let config = configuration.load(&distribution.spec(), Vec::new())?.config;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (wasm, name) = match reference(&file) {
            Some(reference) => runtime.block_on(pull(&config, reference))?,
            None => {
                let wasm = slots::read_component(&file, config.sandbox.component_bytes)?;
                (wasm, file.display().to_string())
            }
        };
        let (capabilities, imports) = (distribution.capabilities(), imports(&wasm));
        for (import, now) in deprecated(&capabilities, &imports) {
            output::line(format_args!("warning: {name} imports {import}, which is deprecated; use {now}"))?;
        }
        let stubs =
            config.slots.get(slot).map(|slot| stubs(&capabilities, slot, &imports)).unwrap_or_default();
        if !stubs.is_empty() {
            output::line(format_args!("stubs: {}", stubs.join(", ")))?;
        }
        let digest = runtime.block_on(Host::check_component(distribution, config, slot, wasm))?;
        Ok(output::line(format_args!("{name} may answer for slot {slot}: {digest}"))?)
    }
}

/// Returns the imports of a component. A file that is not a component has none here, and is refused with the reason.
fn imports(wasm: &[u8]) -> Vec<String> {
    slots::outline(wasm).map(|outline| outline.imports).unwrap_or_default()
}

/// Returns each import whose name is deprecated, with the name to use instead.
fn deprecated<'a>(
    capabilities: &CapabilitySet,
    imports: &'a [String],
) -> impl Iterator<Item = (&'a String, String)> {
    let named = imports.iter().map(move |import| (import, capabilities.named_now(import)));
    named.filter(|(import, now)| now != *import)
}

/// Returns the imports that are without effect for a slot, without versions.
fn stubs<'a>(capabilities: &CapabilitySet, slot: &SlotSettings, imports: &'a [String]) -> Vec<&'a str> {
    let names = imports.iter().map(|import| import.split_once('@').map_or(&**import, |(name, _)| name));
    names.filter(|name| capabilities.is_without_effect(name, &slot.spec, &slot.grants)).collect()
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
    let PulledComponent { wasm, reference, .. } =
        Registries::new(allowed, cap, env::temp_dir()).pull(&reference).await?;
    Ok((wasm, reference.to_string()))
}
