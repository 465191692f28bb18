//! What a component is made of: world, imports, exports, sizes, and what an instance uses.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use bulkhead_config::slots::{Limits, SlotId, SlotSpec};
use bulkhead_runtime::{
    engine::ComponentLimits,
    slots::{Contract, Outline, PreflightFinding, SlotWorld, Usage},
};
use serde_json::{Value, json};

use crate::{
    component::{
        fit::Fit,
        sizes::{MemorySize, Sizes},
    },
    platform::AuthorPlatform,
    signature::bare,
};

/// What texts for people have in place of a slot's id.
const PLACEHOLDER: &str = "name";
/// A slot that is granted nothing, for components that fit the world of no slot.
const NOTHING_GRANTED: SlotSpec = SlotSpec {
    id: SlotId::new(PLACEHOLDER),
    service: "name",
    limits: &Limits::DEFAULT,
    grants: &[],
    uses_models: false,
    component: None,
};

/// How a host treats an import.
#[derive(Debug, PartialEq, Eq)]
enum ImportStatus {
    /// The slot has it.
    Granted,
    /// It is importable without effect.
    Stub,
    /// The configuration can grant it, with this line, which grants every such import.
    Grantable(String),
    /// The host does not offer it, for this reason.
    Missing(String),
}

impl ImportStatus {
    /// Returns how a host treats one of the imports of a component.
    fn of(contract: &Contract<'_>, import: &str, imports: &[String]) -> Self {
        match contract.import(import, imports) {
            None => {
                let capabilities = contract.capabilities;
                match capabilities.is_without_effect(bare(import), &contract.slot, contract.grants) {
                    true => Self::Stub,
                    false => Self::Granted,
                }
            }
            Some(PreflightFinding::Ungranted { grant, .. }) => Self::Grantable(grant),
            Some(finding) => Self::Missing(finding.to_string()),
        }
    }

    const fn as_str(&self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Stub => "stub",
            Self::Grantable(_) => "by grant",
            Self::Missing(_) => "missing",
        }
    }

    /// Returns the line that grants it, or the reason why it is missing.
    fn detail(&self) -> Option<&str> {
        match self {
            Self::Grantable(detail) | Self::Missing(detail) => Some(detail),
            Self::Granted | Self::Stub => None,
        }
    }
}

/// What a component is made of.
pub(crate) struct ComponentInspection {
    world: Option<&'static str>,
    slot: Option<SlotId>,
    /// Why the host refuses it for the world that it is meant for.
    refusal: Vec<String>,
    imports: Vec<(String, ImportStatus)>,
    exports: Vec<String>,
    usage: Usage,
    sizes: Sizes,
}

impl ComponentInspection {
    /// Inspects a component.
    ///
    /// # Errors
    /// When a section is damaged.
    pub(crate) fn new(
        platform: &AuthorPlatform,
        wasm: &[u8],
        outline: Outline,
    ) -> Result<Self, wasmparser::BinaryReaderError> {
        let no_world = SlotWorld { slot: NOTHING_GRANTED.id, name: "", exports: &[] };
        let mut refusal = Vec::new();
        let (world, slot, contract) = match Fit::find(platform, wasm, &outline) {
            Fit::Slot { slot, world, .. } => {
                (Some(world.name), Some(slot.id), platform.contract(slot, &no_world))
            }
            Fit::Served { served, .. } => (Some(served.name), None, served.contract(&platform.capabilities)),
            Fit::Refused(served, findings) => {
                refusal.extend(findings.iter().map(ToString::to_string));
                (None, None, served.contract(&platform.capabilities))
            }
            Fit::None(_) => (None, None, platform.contract(NOTHING_GRANTED, &no_world)),
        };
        let status =
            |import: &String| (import.clone(), ImportStatus::of(&contract, import, &outline.imports));
        let imports = outline.imports.iter().map(status).collect();
        let (exports, usage) = (outline.exports, outline.usage);
        Ok(Self { world, slot, refusal, imports, exports, usage, sizes: Sizes::read(wasm)? })
    }

    /// Returns it for programs.
    pub(crate) fn json(&self) -> Value {
        let import = |(name, status): &(String, ImportStatus)| json!({ "name": name, "status": status.as_str(), "detail": status.detail() });
        let Usage { core_instances, memories, tables } = self.usage;
        json!({
            "world": self.world,
            "slot": self.slot,
            "refusal": self.refusal,
            "imports": self.imports.iter().map(import).collect::<Vec<_>>(),
            "exports": self.exports,
            "core_instances": core_instances,
            "memories": memories,
            "tables": tables,
            "size": self.sizes,
        })
    }

    /// Returns it for people.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        match (self.world, self.slot) {
            (Some(world), Some(slot)) => writeln!(text, "world: {world}, of slot {slot}")?,
            (Some(world), None) => writeln!(text, "world: {world}, which needs no slot")?,
            (None, _) if self.refusal.is_empty() => {
                writeln!(text, "world: none of this host; `component check` says why")?;
            }
            (None, _) => writeln!(text, "world: none of this host: {}", self.refusal.join("; "))?,
        }
        writeln!(text, "imports:")?;
        let mut grant = None;
        for (name, status) in &self.imports {
            write!(text, "  {:<8}  {name}", status.as_str())?;
            match status {
                ImportStatus::Missing(reason) => write!(text, ": {reason}")?,
                ImportStatus::Grantable(line) => grant = Some(line),
                ImportStatus::Granted | ImportStatus::Stub => {}
            }
            writeln!(text)?;
        }
        if let Some(line) = grant {
            writeln!(text, "grant: {line}")?;
        }
        writeln!(text, "exports:")?;
        for name in &self.exports {
            writeln!(text, "  {name}")?;
        }
        self.write_sizes(text)?;
        let Usage { core_instances, memories, tables } = self.usage;
        let limits = ComponentLimits::DEFAULT;
        writeln!(text, "one instance uses:")?;
        for (count, what, limit, key) in [
            (core_instances, "core instances", limits.core_instances, "core_instances"),
            (memories, "memories", limits.memories, "memories"),
            (tables, "tables", limits.tables, "tables"),
        ] {
            writeln!(text, "  {what}: {count} of {limit} (sandbox.{key})")?;
        }
        for memory in self.sizes.modules.iter().flat_map(|module| &module.memories) {
            let MemorySize { minimum_bytes, maximum_bytes } = memory;
            match maximum_bytes {
                Some(maximum) => writeln!(text, "  a memory of {minimum_bytes} bytes, at most {maximum}")?,
                None => writeln!(text, "  a memory of {minimum_bytes} bytes, without a maximum")?,
            }
        }
        Ok(())
    }

    fn write_sizes(&self, text: &mut String) -> std::fmt::Result {
        let Sizes { bytes, modules, custom_bytes, rest_bytes } = &self.sizes;
        writeln!(text, "size: {bytes} bytes")?;
        for (at, module) in modules.iter().enumerate() {
            let name = module.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            writeln!(
                text,
                "  core module {at}{name}: {} bytes; code {}, data {}, custom sections {}",
                module.bytes, module.code_bytes, module.data_bytes, module.custom_bytes
            )?;
        }
        writeln!(text, "  other custom sections: {custom_bytes} bytes")?;
        writeln!(text, "  types and how the modules are joined: {rest_bytes} bytes")
    }
}
