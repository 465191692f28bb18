//! The preflight check: a slot's contract against the outline of a component, before compilation.

mod finding;
#[cfg(test)]
mod tests;

use std::fmt;

use bulkhead_config::{
    grants::near_miss,
    slots::{SlotId, SlotSpec},
};

pub use self::finding::PreflightFinding;
use super::outline::{Outline, outline};
use crate::{
    capabilities::{CapabilitySet, Interface},
    engine::ComponentLimits,
};

/// Most findings in one refusal: a hostile component may have thousands.
const LISTED: usize = 20;
/// Most imports, or exports, of one component: several times what any slot offers.
const NAMES: u64 = 200;

/// The requirements of a slot on its components.
#[derive(Debug)]
pub struct Contract<'a> {
    /// The slot's description.
    pub slot: SlotSpec,
    /// The table of the configuration that has the slot's.
    pub table: &'static str,
    /// The slot's world.
    pub world: &'static str,
    /// The exports that a component must have.
    pub exports: &'static [&'static str],
    /// The interfaces that the configuration grants, in addition to the slot's own.
    pub grants: &'a [String],
    /// What a component may have at most.
    pub limits: ComponentLimits,
    /// The capabilities that the host offers.
    pub capabilities: &'a CapabilitySet,
}

/// The error of a component that a slot refuses, with all reasons.
#[derive(Debug, thiserror::Error)]
pub struct PreflightError {
    /// The slot that refuses it.
    pub slot: SlotId,
    /// The slot's world.
    pub world: &'static str,
    /// The reasons.
    pub findings: Vec<PreflightFinding>,
    /// The interfaces that the slot offers, with versions.
    pub offered: Vec<String>,
}

impl fmt::Display for PreflightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {} refuses the component for {}:", self.slot.as_str(), self.world)?;
        for finding in &self.findings {
            write!(f, "\n  - {finding}")?;
        }
        write!(f, "\n  the slot offers {}", self.offered.join(", "))
    }
}

impl Contract<'_> {
    /// Returns whether a component exports an interface of the package of the world's exports, of whatever release, so that
    /// it is meant for this world.
    pub fn is_meant(&self, outline: &Outline) -> bool {
        let is_own = |export: &String| self.exports.iter().any(|own| package(own) == package(export));
        outline.exports.iter().any(|export| package(export).is_some() && is_own(export))
    }

    /// Checks the size, format, exports and imports of a component.
    ///
    /// # Errors
    /// With all reasons to refuse it.
    pub fn check(&self, wasm: &[u8], cap: usize) -> Result<(), PreflightError> {
        let findings = if wasm.len() > cap {
            vec![PreflightFinding::TooLarge { bytes: wasm.len(), cap }]
        } else {
            match outline(wasm) {
                Ok(outline) => match excess(&outline, self.limits) {
                    // Names over the limit are not checked. For a component of another kind of host, its size does not
                    // matter.
                    excess if !excess.is_empty() && self.other_kind(&outline).is_none() => excess,
                    _ => self.compare(&outline),
                },
                Err(why) => vec![PreflightFinding::NotAComponent(why)],
            }
        };
        if findings.is_empty() {
            return Ok(());
        }
        Err(PreflightError { slot: self.slot.id, world: self.world, findings, offered: self.offered() })
    }

    /// Returns the interfaces that this slot's components may import, with versions.
    fn offered(&self) -> Vec<String> {
        let mine = self.capabilities.interfaces().filter(|interface| self.is_granted(interface));
        mine.map(|interface| format!("{interface:?}")).collect()
    }

    /// Returns the kind of a component that lacks an export of the world.
    fn other_kind(&self, outline: &Outline) -> Option<PreflightFinding> {
        let wanted = self.missing(outline).next()?;
        let release = outline.exports.iter().find_map(|export| other_release(export, wanted));
        release.or_else(|| other_kind(&outline.exports, wanted))
    }

    /// Returns the exports of the world that the component lacks.
    fn missing<'a>(&'a self, outline: &'a Outline) -> impl Iterator<Item = &'a str> {
        let exports = self.exports.iter().copied();
        exports.filter(|wanted| !outline.exports.iter().any(|found| compatible(found, wanted)))
    }

    /// Compares exports and imports.
    fn compare(&self, outline: &Outline) -> Vec<PreflightFinding> {
        if let Some(other) = self.other_kind(outline) {
            // Other findings would only distract from it.
            return vec![other];
        }
        let missing = self.missing(outline).map(|wanted| {
            let wanted = wanted.to_owned();
            let same = |found: &&String| split(found).0 == split(&wanted).0;
            match outline.exports.iter().find(same).cloned() {
                Some(found) => PreflightFinding::OtherExport { wanted, found },
                None => {
                    let nearest = near_miss(&wanted, outline.exports.iter().map(String::as_str));
                    let nearest = nearest.map(str::to_owned);
                    PreflightFinding::MissingExport { wanted, nearest }
                }
            }
        });
        let imports = outline.imports.iter().filter_map(|import| self.import(import, &outline.imports));
        missing.chain(imports).take(LISTED).collect()
    }

    fn is_granted(&self, interface: &Interface) -> bool {
        self.capabilities.is_granted(interface, &self.slot, self.grants)
    }

    /// Returns the reason why the slot refuses an import, or `None` where it has it. The line that would grant it grants all of
    /// the component's `imports` that need a grant.
    pub fn import(&self, wanted: &str, imports: &[String]) -> Option<PreflightFinding> {
        let wanted = wanted.to_owned();
        let (name, _) = split(&wanted);
        if let Some(stub) = self.capabilities.stub(name, &self.slot, self.grants) {
            let offered = format!("{stub:?}");
            return (!compatible(&wanted, &offered))
                .then_some(PreflightFinding::OtherVersion { wanted, offered });
        }
        let Some(interface) = self.capabilities.find(name) else {
            let names = self.capabilities.names().chain(self.capabilities.stubs().map(|stub| stub.name));
            // Never a name that is deprecated.
            let now = |near| self.capabilities.find(near).map_or(near, |interface| interface.name);
            let nearest = near_miss(name, names).map(|near| now(near).to_owned());
            return Some(PreflightFinding::Unknown { nearest, wanted });
        };
        let offered = format!("{interface:?}");
        if !self.is_offered(&wanted, interface) {
            return Some(PreflightFinding::OtherVersion { wanted, offered });
        }
        if self.is_granted(interface) {
            return None;
        }
        Some(PreflightFinding::Ungranted { wanted, offered, grant: self.grant_line(imports) })
    }

    /// Returns whether an import that names an interface is of a version that is offered under its name.
    fn is_offered(&self, wanted: &str, interface: &Interface) -> bool {
        match self.capabilities.deprecation(split(wanted).0) {
            Some(deprecated) => compatible(wanted, &format!("{deprecated:?}")),
            None => compatible(wanted, &format!("{interface:?}")),
        }
    }

    /// Returns the line of the configuration that grants all of these imports, and what is granted already.
    fn grant_line(&self, imports: &[String]) -> String {
        let mut grants: Vec<&str> = self.grants.iter().map(String::as_str).collect();
        for wanted in imports {
            let (name, _) = split(wanted);
            let is_stub = self.capabilities.stub(name, &self.slot, self.grants).is_some();
            if let Some(interface) = self.capabilities.find(name).filter(|_| !is_stub)
                && self.is_offered(wanted, interface)
                && !self.is_granted(interface)
                && !grants.contains(&interface.name)
            {
                grants.push(interface.name);
            }
        }
        format!("{}.{}.grants = {grants:?}", self.table, self.slot.id)
    }
}

/// Returns the counts of a component that are over a limit.
fn excess(outline: &Outline, limits: ComponentLimits) -> Vec<PreflightFinding> {
    let Outline { import_count, export_count, usage, .. } = outline;
    let ComponentLimits { core_instances, memories, tables } = limits;
    let counted = [
        ("imports", *import_count, NAMES, None),
        ("exports", *export_count, NAMES, None),
        ("core instances", usage.core_instances, core_instances as u64, Some("sandbox.core_instances")),
        ("memories", usage.memories, memories as u64, Some("sandbox.memories")),
        ("tables", usage.tables, tables as u64, Some("sandbox.tables")),
    ];
    let over = counted.into_iter().filter(|(_, count, limit, _)| count > limit);
    over.map(|(what, count, limit, key)| PreflightFinding::TooMany { what, count, limit, key }).collect()
}

/// Exports of components for hosts of another kind: `wasi:http` 0.2 has `incoming-handler`, 0.3 `handler`.
const OTHER_KINDS: [(&str, &str); 4] = [
    ("wasi:http/incoming-handler", "wasi:http"),
    ("wasi:http/handler", "wasi:http"),
    ("wasi:http/proxy", "wasi:http"),
    ("wasi:cli/run", "wasi:cli"),
];

/// Returns the kind of a component for another kind of host than one that takes the export `wanted`.
fn other_kind(exports: &[String], wanted: &str) -> Option<PreflightFinding> {
    let mut others = OTHER_KINDS.iter().filter(|(_, kind)| package(wanted) != Some(*kind));
    others.find_map(|(name, kind)| {
        let export = exports.iter().find(|export| split(export).0 == *name)?.clone();
        Some(PreflightFinding::OtherKind { kind, export })
    })
}

/// Returns the finding for a component whose export is another interface of the package of `wanted`, in another release.
fn other_release(export: &str, wanted: &str) -> Option<PreflightFinding> {
    let ((found_name, found), (wanted_name, served)) = (split(export), split(wanted));
    let (package, _) = found_name.split_once('/')?;
    let (found, served) = (release(found?)?, release(served?)?);
    let is_same_package = wanted_name.split_once('/').is_some_and(|(wanted, _)| wanted == package);
    (is_same_package && found_name != wanted_name && found != served).then(|| {
        PreflightFinding::OtherRelease {
            package: package.to_owned(),
            found,
            served,
            export: export.to_owned(),
        }
    })
}

/// Returns the part of a version up to the first number that is not zero.
fn release(version: &str) -> Option<String> {
    let mut numbers = version.split(['-', '+']).next()?.split('.');
    match (numbers.next()?, numbers.next()) {
        ("0", minor) => Some(format!("0.{}", minor?)),
        (major, _) => Some(major.to_owned()),
    }
}

/// Returns the package of an interface, without its version.
fn package(name: &str) -> Option<&str> {
    split(name).0.split_once('/').map(|(package, _)| package)
}

/// Splits a name into interface and version.
fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('@').map_or((name, None), |(name, version)| (name, Some(version)))
}

/// Returns whether `found` is semver-compatible with `wanted`: the same name, and the same version up to the first
/// number that is not zero. Pre-releases must be equal.
fn compatible(found: &str, wanted: &str) -> bool {
    let (found_name, found_version) = split(found);
    let (wanted_name, wanted_version) = split(wanted);
    found_name == wanted_name
        && (found_version == wanted_version
            || matches!((found_version.and_then(track), wanted_version.and_then(track)), (Some(a), Some(b)) if a == b))
}

/// Returns the leading numbers that must be equal, or `None` for a pre-release or 0.0.x, where the whole version must
/// be equal.
fn track(version: &str) -> Option<(u64, u64)> {
    let version = version.split_once('+').map_or(version, |(version, _)| version);
    let mut numbers = version.splitn(3, '.').map(str::parse::<u64>);
    match (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?) {
        (0, 0, _) => None,
        (0, minor, _) => Some((0, minor)),
        (major, ..) => Some((major, 0)),
    }
}
