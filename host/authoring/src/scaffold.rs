//! Writes the folder of a new component from a template.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    str,
};

use bulkhead_config::slots::SlotId;
use bulkhead_runtime::slots::EmbeddedFile;

use crate::{
    embedded::GUEST,
    platform::AuthorPlatform,
    report::{AuthoringFailure, CommandReport},
    wit::packages::{self, Packages},
};

/// Folder of a language with the files of all its templates.
const EVERY_WORLD: &str = "every-world";
/// The file of a template that says what else the component gets; it is not written.
const MANIFEST: &str = "template";
/// A file of templates under a name that has no effect in this repository, and its name in the written folder.
const IGNORED: (&str, &str) = ("gitignore", ".gitignore");
/// The folder of the crate `bulkhead-guest` in a written folder.
const GUEST_FOLDER: &str = "guest";
/// Where the crate `bulkhead-guest` of the repository finds the WIT, and where the written one does.
const GUEST_WIT: (&str, &str) = ("../../wit/deps/logging", "../wit/deps/logging");
/// Names that a Rust package cannot have beside its dependencies.
const TAKEN: [&str; 8] =
    ["alloc", "bulkhead-guest", "core", "proc-macro", "serde", "serde-json", "std", "wit-bindgen"];

/// What a template says about itself.
#[derive(Debug)]
struct TemplateManifest {
    /// The WIT world, without its version.
    world: String,
    /// Whether the source of `bulkhead-guest` is written into the folder.
    has_guest: bool,
}

impl TemplateManifest {
    /// Reads lines such as `world: wasi:http/proxy`.
    fn read(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim().to_owned())
        };
        Some(Self { world: value("world")?, has_guest: value("guest").is_some_and(|guest| guest == "yes") })
    }
}

/// Returns the language, the name and the manifest of each template.
fn templates(
    platform: &AuthorPlatform,
) -> impl Iterator<Item = (&'static str, &'static str, TemplateManifest)> {
    platform.templates().filter_map(|file| {
        let (language, name) = file.path.strip_suffix(MANIFEST)?.strip_suffix('/')?.split_once('/')?;
        Some((language, name, TemplateManifest::read(str::from_utf8(file.bytes).ok()?)?))
    })
}

/// Returns the languages and names of all templates.
fn offered(platform: &AuthorPlatform) -> BTreeSet<(&'static str, &'static str)> {
    templates(platform).map(|(language, name, _)| (language, name)).collect()
}

/// Lists the worlds of each language.
fn listed(offered: &BTreeSet<(&'static str, &'static str)>) -> String {
    let languages: BTreeSet<&str> = offered.iter().map(|(language, _)| *language).collect();
    let of = |language: &str| {
        let worlds: Vec<&str> =
            offered.iter().filter(|(other, _)| *other == language).map(|(_, world)| *world).collect();
        format!("{language}: {}", worlds.join(", "))
    };
    languages.into_iter().map(of).collect::<Vec<_>>().join("; ")
}

/// Checks the name of a new component.
fn check_name(name: &str) -> Result<(), AuthoringFailure> {
    SlotId::parse(name).map_err(|error| AuthoringFailure::Usage(format!("the name {name:?} {error}")))?;
    if TAKEN.contains(&name) {
        return Err(AuthoringFailure::Usage(format!(
            "the name {name} is that of a dependency; choose another"
        )));
    }
    Ok(())
}

/// Replaces what a template leaves open.
fn fill(text: &str, name: &str, binary: &str, manifest: &TemplateManifest) -> String {
    text.replace("{{name}}", name)
        .replace("{{crate}}", &name.replace('-', "_"))
        .replace("{{world}}", &manifest.world)
        .replace("{{binary}}", binary)
}

/// Writes a component called `name` for a world in a language into `folder`. The world is named as its template is, or by its
/// full name, with or without a version.
///
/// # Errors
/// When the name is invalid, there is no such template, or the folder has files.
pub(crate) fn create(
    platform: &AuthorPlatform,
    name: &str,
    language: &str,
    world: &str,
    folder: &Path,
) -> anyhow::Result<CommandReport> {
    check_name(name)?;
    let (full, _) = world.split_once('@').unwrap_or((world, ""));
    let template = templates(platform)
        .find(|(known, name, manifest)| *known == language && (*name == world || manifest.world == full));
    let Some((_, template, manifest)) = template else {
        let listed = listed(&offered(platform));
        let text = format!("there is no template in {language} for the world {world}; there are {listed}");
        return Err(AuthoringFailure::Usage(text).into());
    };
    let (own, shared) = (format!("{language}/{template}/"), format!("{language}/{EVERY_WORLD}/"));
    let below = |prefix: &str| {
        let files = platform.templates().filter_map(|file| Some((file.path.strip_prefix(prefix)?, file)));
        files.collect::<Vec<(&str, &EmbeddedFile)>>()
    };
    let (own, shared) = (below(&own), below(&shared));
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    // A template's own file replaces one of the same name.
    let is_wanted = |name: &str| manifest.has_guest || !name.starts_with(GUEST_FOLDER);
    let shared = shared.iter().filter(|(name, _)| is_wanted(name) && !own.iter().any(|(own, _)| own == name));
    for (path, file) in own.iter().chain(shared).filter(|(path, _)| *path != MANIFEST) {
        let bytes = match str::from_utf8(file.bytes) {
            Ok(text) => fill(text, name, platform.name, &manifest).into_bytes(),
            Err(_) => file.bytes.to_vec(),
        };
        let path = if *path == IGNORED.0 { IGNORED.1 } else { *path };
        files.push((PathBuf::from(path), bytes));
    }
    if manifest.has_guest {
        for file in GUEST {
            let text = str::from_utf8(file.bytes)?.replace(GUEST_WIT.0, GUEST_WIT.1);
            files.push((Path::new(GUEST_FOLDER).join("src").join(file.path), text.into_bytes()));
        }
    }
    let wit = Packages::of(platform)?;
    for (path, bytes) in wit.files(wit.world(&manifest.world)?, &BTreeSet::new()) {
        files.push((Path::new("wit").join(path), bytes.to_vec()));
    }
    let count = packages::write(folder, files, false)?;
    Ok(CommandReport::done(format!(
        "wrote {count} files to {0}: {name}, a component for {1} in {language}\nnext: {0}/README.md\n",
        folder.display(),
        manifest.world
    )))
}
