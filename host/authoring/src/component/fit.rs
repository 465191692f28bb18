//! Which world a component fits.

#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc};

use bulkhead_config::slots::SlotSpec;
use bulkhead_runtime::slots::{self, Outline, PreflightError, PreflightFinding, ServedWorld, SlotWorld};

use crate::{
    component::export_types,
    platform::AuthorPlatform,
    report::{AuthoringFailure, CommandReport},
};

/// Largest file that is read, bytes.
const FILE_BYTES: usize = 1 << 30;

/// The world that a component fits.
pub(crate) enum Fit {
    /// The world of a slot.
    Slot {
        /// The slot.
        slot: SlotSpec,
        /// The world.
        world: SlotWorld,
        /// The configuration lines that grant imports which the slot does not have.
        grants: Vec<String>,
    },
    /// A world whose components need no slot.
    Served {
        /// The world.
        served: ServedWorld,
        /// The configuration lines that grant imports which such a component does not have.
        grants: Vec<String>,
    },
    /// A world whose components need no slot, for which the component is meant and which refuses it.
    Refused(ServedWorld, Vec<PreflightFinding>),
    /// No world; with the refusal of the slot that has the fewest objections, if there are slots.
    None(Option<PreflightError>),
}

impl Fit {
    /// Finds the world that `wasm` fits.
    pub(crate) fn find(platform: &AuthorPlatform, wasm: &[u8], outline: &Outline) -> Self {
        let mut refused = None;
        for served in &platform.served {
            let contract = served.contract(&platform.capabilities);
            let mut findings = match contract.check(wasm, FILE_BYTES) {
                Ok(()) => Vec::new(),
                Err(refusal) if contract.is_meant(outline) => refusal.findings,
                Err(_) => continue,
            };
            if let Some(grants) = grants(&findings) {
                findings = export_types::findings(platform, served.name, wasm);
                if findings.is_empty() {
                    return Self::Served { served: *served, grants };
                }
            }
            refused = Some(Self::Refused(*served, findings));
        }
        let mut nearest: Option<PreflightError> = None;
        for world in &platform.worlds {
            let Some(slot) = platform.slot(world.slot).copied() else { continue };
            match platform.contract(slot, world).check(wasm, FILE_BYTES) {
                Ok(()) => return Self::Slot { slot, world: *world, grants: Vec::new() },
                Err(refusal) => {
                    if let Some(grants) = grants(&refusal.findings) {
                        return Self::Slot { slot, world: *world, grants };
                    }
                    let is_nearer =
                        nearest.as_ref().is_none_or(|known| refusal.findings.len() < known.findings.len());
                    if is_nearer {
                        nearest = Some(refusal);
                    }
                }
            }
        }
        refused.unwrap_or(Self::None(nearest))
    }
}

/// Returns the line that grants what a refusal lists, or an empty list without a refusal. `None` if it lists anything else.
fn grants(findings: &[PreflightFinding]) -> Option<Vec<String>> {
    let grant = |finding: &PreflightFinding| match finding {
        PreflightFinding::Ungranted { grant, .. } => Some(grant.clone()),
        _ => None,
    };
    let mut lines: Vec<String> = findings.iter().map(grant).collect::<Option<_>>()?;
    lines.dedup();
    Some(lines)
}

/// Reads a component and its outline.
///
/// # Errors
/// When it cannot be read or is not a component.
pub(crate) fn read(file: &Path) -> anyhow::Result<(Arc<[u8]>, Outline)> {
    let wasm = slots::read_component(file, FILE_BYTES)?;
    let outline = slots::outline(&wasm).map_err(|why| {
        AuthoringFailure::NoWorld(format!("{} is not a WebAssembly component: {why}", file.display()))
    })?;
    Ok((wasm, outline))
}

/// Says which world a component fits, and for which slot to check it.
///
/// # Errors
/// When it cannot be read or is not a component.
pub fn check(platform: &AuthorPlatform, file: &Path) -> anyhow::Result<CommandReport> {
    let (wasm, outline) = read(file)?;
    let (name, binary) = (file.display(), platform.name);
    Ok(match Fit::find(platform, &wasm, &outline) {
        Fit::Slot { slot, world, grants } => {
            let mut text = format!("{name} fits {}, the world of slot {}\n", world.name, slot.id);
            for grant in grants {
                text += &format!("it needs a grant: {grant}\n");
            }
            text += &format!(
                "to check types and run its self-test: {binary} component check --slot {} {name}\n",
                slot.id
            );
            CommandReport::done(text)
        }
        Fit::Served { served, grants } => {
            let mut text = format!("{name} fits {}, which needs no slot; {}\n", served.name, served.advice);
            for grant in grants {
                text += &format!("it needs a grant: {grant}\n");
            }
            CommandReport::done(text)
        }
        Fit::Refused(served, findings) => {
            let mut text = format!("{name} is meant for {}, and this host refuses it:", served.name);
            for finding in &findings {
                text += &format!("\n  - {finding}");
            }
            CommandReport::failed(String::new(), AuthoringFailure::NoWorld(text))
        }
        Fit::None(nearest) => {
            let worlds = platform.worlds.iter().map(|world| world.name);
            let worlds: Vec<&str> = worlds.chain(platform.served.iter().map(|served| served.name)).collect();
            let worlds = if worlds.is_empty() { "none".to_owned() } else { worlds.join(", ") };
            let mut text = format!("{name} fits no world of this host, which has {worlds}");
            if let Some(nearest) = nearest {
                text += &format!("\nthe nearest: {nearest}");
            }
            CommandReport::failed(String::new(), AuthoringFailure::NoWorld(text))
        }
    })
}
