//! What can be said of a component before it costs a compilation.

#[cfg(test)]
mod tests;

use std::fmt;

use wasmparser::{BinaryReaderError, Encoding, Parser, Payload};

use super::granted;
use crate::{capabilities::INTERFACES, config::slots::SlotName};

/// Names listed in one refusal; a hostile component may have thousands.
const LISTED: usize = 20;
/// Longest name quoted, characters.
const NAME_CHARS: usize = 120;

/// What a slot demands of a component.
#[derive(Debug)]
pub struct Contract<'a> {
    /// Which slot.
    pub slot: SlotName,
    /// Its world.
    pub world: &'static str,
    /// Exports that must be there.
    pub exports: &'static [&'static str],
    /// Interfaces granted by the configuration, beyond the slot's own.
    pub grants: &'a [String],
}

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub enum Finding {
    /// Larger than the host looks at.
    TooLarge {
        /// Its size, bytes.
        bytes: usize,
        /// The cap, bytes.
        cap: usize,
    },
    /// Not a component, or not whole.
    NotAComponent(String),
    /// An export that the world has and the component has not.
    MissingExport {
        /// The world's name for it.
        wanted: String,
        /// The nearest that the component exports.
        nearest: Option<String>,
    },
    /// An export that the component has of another version than the world.
    OtherExport {
        /// The world's name for it.
        wanted: String,
        /// The component's.
        found: String,
    },
    /// An import that the slot is not granted.
    Ungranted {
        /// The component's name for it.
        wanted: String,
        /// The offered interface, with the version that is offered.
        offered: String,
        /// The configuration line that grants it.
        grant: String,
    },
    /// An import of a version that is not offered.
    OtherVersion {
        /// The component's name for it.
        wanted: String,
        /// What is offered.
        offered: String,
    },
    /// An import that the host does not know.
    Unknown {
        /// The component's name for it.
        wanted: String,
        /// The nearest that is offered.
        nearest: Option<String>,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nearest = |f: &mut fmt::Formatter<'_>, nearest: &Option<String>| match nearest {
            Some(name) => write!(f, "; the nearest is {name}"),
            None => Ok(()),
        };
        match self {
            Self::TooLarge { bytes, cap } => {
                write!(f, "it has {bytes} bytes, over the cap of {cap}; raise sandbox.component_bytes")
            }
            Self::NotAComponent(why) => write!(f, "it is not a WebAssembly component: {why}"),
            Self::MissingExport { wanted, nearest: name } => {
                write!(f, "it does not export {wanted}")?;
                nearest(f, name)
            }
            Self::OtherExport { wanted, found } => {
                write!(f, "it exports {found}, this slot takes {wanted}; build it against that version")
            }
            Self::Ungranted { wanted, offered, grant } => {
                write!(f, "it imports {wanted}, offered as {offered} but not granted; grant it with {grant}")
            }
            Self::OtherVersion { wanted, offered } => {
                write!(f, "it imports {wanted}, this host offers {offered}; build it against that version")
            }
            Self::Unknown { wanted, nearest: name } => {
                write!(f, "it imports {wanted}, which this host does not offer")?;
                nearest(f, name)
            }
        }
    }
}

/// A component that may not answer, with everything that is wrong with it.
#[derive(Debug, thiserror::Error)]
pub struct Refused {
    /// Which slot refuses it.
    pub slot: SlotName,
    /// The slot's world.
    pub world: &'static str,
    /// Each thing that is wrong.
    pub findings: Vec<Finding>,
    /// Everything that the slot offers, with versions.
    pub offered: Vec<String>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {} refuses the component for {}:", self.slot.as_str(), self.world)?;
        for finding in &self.findings {
            write!(f, "\n  - {finding}")?;
        }
        write!(f, "\n  the slot offers {}", self.offered.join(", "))
    }
}

/// Names of a component's imports and exports, with versions; cut, and free of control characters.
#[derive(Debug)]
pub struct Outline {
    /// What it asks for.
    pub imports: Vec<String>,
    /// What it offers.
    pub exports: Vec<String>,
}

impl Contract<'_> {
    /// Checks size, form, exports and imports.
    ///
    /// # Errors
    /// With everything that is wrong.
    pub fn check(&self, wasm: &[u8], cap: usize) -> Result<(), Refused> {
        let findings = if wasm.len() > cap {
            vec![Finding::TooLarge { bytes: wasm.len(), cap }]
        } else {
            match outline(wasm) {
                Ok(outline) => self.compare(&outline),
                Err(why) => vec![Finding::NotAComponent(why)],
            }
        };
        if findings.is_empty() {
            return Ok(());
        }
        Err(Refused { slot: self.slot, world: self.world, findings, offered: self.offered() })
    }

    /// What this slot's components may import, with versions.
    fn offered(&self) -> Vec<String> {
        let mine = INTERFACES.iter().filter(|interface| granted(interface, self.slot, self.grants));
        mine.map(|interface| format!("{interface:?}")).collect()
    }

    fn compare(&self, outline: &Outline) -> Vec<Finding> {
        let missing = self
            .exports
            .iter()
            .filter(|wanted| !outline.exports.iter().any(|found| compatible(found, wanted)));
        let missing = missing.map(|wanted| {
            let wanted = (*wanted).to_owned();
            let same = |found: &&String| split(found).0 == split(&wanted).0;
            match outline.exports.iter().find(same).cloned() {
                Some(found) => Finding::OtherExport { wanted, found },
                None => {
                    let nearest = nearest(&wanted, outline.exports.iter().map(String::as_str));
                    Finding::MissingExport { wanted, nearest }
                }
            }
        });
        missing.chain(outline.imports.iter().filter_map(|import| self.import(import))).take(LISTED).collect()
    }

    fn import(&self, wanted: &str) -> Option<Finding> {
        let wanted = wanted.to_owned();
        let (name, _) = split(&wanted);
        let Some(interface) = INTERFACES.iter().find(|interface| interface.name == name) else {
            let names = INTERFACES.iter().map(|interface| interface.name);
            return Some(Finding::Unknown { nearest: nearest(name, names), wanted });
        };
        let offered = format!("{interface:?}");
        if !compatible(&wanted, &offered) {
            return Some(Finding::OtherVersion { wanted, offered });
        }
        if granted(interface, self.slot, self.grants) {
            return None;
        }
        let grants = self.grants.iter().map(String::as_str).chain([interface.name]);
        let list = grants.map(|grant| format!("\"{grant}\"")).collect::<Vec<_>>().join(", ");
        let grant = format!("slots.{}.grants = [{list}]", self.slot.as_str());
        Some(Finding::Ungranted { wanted, offered, grant })
    }
}

/// What every WebAssembly file begins with.
const MAGIC: &[u8] = b"\0asm";

/// Reads the names of a component's imports and exports.
///
/// # Errors
/// Why it is not a component, or not whole.
pub fn outline(wasm: &[u8]) -> Result<Outline, String> {
    if wasm.is_empty() {
        return Err("the file is empty".into());
    }
    if wasm.trim_ascii_start().starts_with(b"(") {
        return Err("it is text; translate it with `wasm-tools parse`".into());
    }
    if !wasm.starts_with(MAGIC) {
        return Err("it does not begin as WebAssembly does, with the bytes 00 61 73 6d; see that it is the right file".into());
    }
    let mut outline = Outline { imports: Vec::new(), exports: Vec::new() };
    let mut depth = 0_usize;
    let mut whole = false;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(|error| damage(&error, wasm.len()))? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(
                    "it is a core module; wrap it with a component linker such as wasm-component-ld".into()
                );
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) if depth == 0 => whole = true,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let import = import.map_err(|error| damage(&error, wasm.len()))?;
                    outline.imports.push(quoted(import.name.name));
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    let export = export.map_err(|error| damage(&error, wasm.len()))?;
                    outline.exports.push(quoted(export.name.name));
                }
            }
            _ => {}
        }
    }
    if whole { Ok(outline) } else { Err(CUT_OFF.into()) }
}

const CUT_OFF: &str = "it ends before its end; see that it has been copied whole";

/// What keeps a file from being read.
fn damage(error: &BinaryReaderError, bytes: usize) -> String {
    if error.offset() >= bytes || error.message().starts_with("unexpected end") {
        return CUT_OFF.to_owned();
    }
    format!("it is damaged at byte {}: {}", error.offset(), quoted(error.message()))
}

/// Names come from the component: cut, and free of control characters.
fn quoted(name: &str) -> String {
    name.chars().take(NAME_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('@').map_or((name, None), |(name, version)| (name, Some(version)))
}

/// Whether semver lets `found` stand for `wanted`: the same name, and the same version up to the first
/// number that is not zero; pre-releases only exactly.
fn compatible(found: &str, wanted: &str) -> bool {
    let (found_name, found_version) = split(found);
    let (wanted_name, wanted_version) = split(wanted);
    found_name == wanted_name
        && (found_version == wanted_version
            || matches!((found_version.and_then(track), wanted_version.and_then(track)), (Some(a), Some(b)) if a == b))
}

/// The leading numbers that must be equal; none for a pre-release or 0.0.x, where all must be.
fn track(version: &str) -> Option<(u64, u64)> {
    let version = version.split_once('+').map_or(version, |(version, _)| version);
    let mut numbers = version.splitn(3, '.').map(str::parse::<u64>);
    match (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?) {
        (0, 0, _) => None,
        (0, minor, _) => Some((0, minor)),
        (major, ..) => Some((major, 0)),
    }
}

fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names.map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    scored
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}
