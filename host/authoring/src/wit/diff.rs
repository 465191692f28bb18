//! Compares two versions of a WIT package: whether components that were built against the old one fit the new one.

#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use anyhow::{Context as _, anyhow, bail};
use wit_component::{WitPrinter, semver_check};
use wit_parser::{InterfaceId, PackageId, PackageName, Resolve, WorldId, WorldItem, WorldKey};

use crate::signature::signature;

/// Marks the packages of the old version while both are in one [`Resolve`].
const OLD: &str = "old-";

/// The comparison of the worlds of two packages, and of the interfaces that are in no world.
#[derive(Debug, Default)]
pub(crate) struct WitDifference {
    /// What a component that was built before lacks or has in another form, one line each.
    pub(crate) breaks: Vec<String>,
    /// What was added, one line each.
    pub(crate) additions: Vec<String>,
}

/// Compares the packages in two folders or files.
///
/// # Errors
/// When one cannot be read, they are different packages, or the old one has neither a world nor an interface.
pub(crate) fn compare(old: &Path, new: &Path) -> anyhow::Result<WitDifference> {
    let ((mut both, old_package), (new, new_package)) = (read(old)?, read(new)?);
    let name = |resolve: &Resolve, id: PackageId| {
        resolve.packages.get(id).map(|package| format!("{}:{}", package.name.namespace, package.name.name))
    };
    let names = (name(&both, old_package), name(&new, new_package));
    if names.0 != names.1 {
        let (old, new) = (names.0.unwrap_or_default(), names.1.unwrap_or_default());
        bail!("{old} and {new} are different packages; give two versions of one");
    }
    for (_, package) in both.packages.iter_mut() {
        package.name.namespace.insert_str(0, OLD);
    }
    both.package_names = both.packages.iter().map(|(id, package)| (package.name.clone(), id)).collect();
    let remap = both.merge(new)?;
    let new_package =
        *remap.packages.get(new_package.index()).context("the new package cannot be compared")?;
    for (_, package) in both.packages.iter_mut() {
        if let Some(name) = package.name.namespace.strip_prefix(OLD).map(str::to_owned) {
            package.name.namespace = name;
        }
    }
    let mut difference = WitDifference::default();
    compare_versions(&both, Some(old_package), Some(new_package), &mut difference);
    let (before, after) = (worlds(&both, old_package), worlds(&both, new_package));
    let (plain_before, plain_after) = (interfaces(&both, old_package), interfaces(&both, new_package));
    if before.is_empty() && plain_before.is_empty() {
        bail!("nothing to compare: {} has neither a world nor an interface", names.0.unwrap_or_default());
    }
    for (name, old) in &before {
        match id_of(name, &after) {
            Some(new) => compare_worlds(&both, name, *old, new, &mut difference)?,
            None => difference.breaks.push(format!("world {name}: it is gone")),
        }
    }
    let added = after.iter().filter(|(name, _)| id_of(name, &before).is_none());
    difference.additions.extend(added.map(|(name, _)| format!("world {name}")));
    compare_interfaces(&both, &plain_before, &plain_after, &mut difference);
    Ok(difference)
}

/// Returns what has a name.
fn id_of<I: Copy>(wanted: &str, named: &[(String, I)]) -> Option<I> {
    named.iter().find(|(name, _)| name == wanted).map(|(_, id)| *id)
}

/// Reads a package with those that it uses.
fn read(path: &Path) -> anyhow::Result<(Resolve, PackageId)> {
    let is_wit = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|kind| kind == "wit");
    if fs::read_dir(path).is_ok_and(|entries| !entries.flatten().any(|entry| is_wit(&entry))) {
        bail!("{} has no .wit file; name the folder of a package", path.display());
    }
    let mut resolve = Resolve::default();
    let (package, _) = resolve
        .push_path(path)
        .map_err(|error| anyhow!("cannot read the WIT of {}: {error:#}", path.display()))?;
    Ok((resolve, package))
}

/// Returns the worlds of a package, with their names.
fn worlds(resolve: &Resolve, package: PackageId) -> Vec<(String, WorldId)> {
    let Some(package) = resolve.packages.get(package) else { return Vec::new() };
    package.worlds.iter().map(|(name, id)| (name.clone(), *id)).collect()
}

/// Returns the interfaces of a package, with their names, and whether a world of the package has each.
fn interfaces(resolve: &Resolve, package: PackageId) -> Vec<(String, PlainInterface)> {
    let Some(package) = resolve.packages.get(package) else { return Vec::new() };
    let worlds: Vec<_> = package.worlds.values().filter_map(|id| resolve.worlds.get(*id)).collect();
    let is_in_world = |wanted: InterfaceId| {
        let mut items = worlds.iter().flat_map(|world| world.imports.values().chain(world.exports.values()));
        items.any(|item| matches!(item, WorldItem::Interface { id, .. } if *id == wanted))
    };
    let full = |name: &str| format!("{}:{}/{name}", package.name.namespace, package.name.name);
    let plain = |id: InterfaceId| PlainInterface { id, is_in_world: is_in_world(id) };
    package.interfaces.iter().map(|(name, id)| (full(name), plain(*id))).collect()
}

/// An interface of a package, apart from its worlds.
#[derive(Clone, Copy)]
struct PlainInterface {
    id: InterfaceId,
    is_in_world: bool,
}

/// Compares the interfaces that are in no world of the old package.
fn compare_interfaces(
    resolve: &Resolve,
    before: &[(String, PlainInterface)],
    after: &[(String, PlainInterface)],
    difference: &mut WitDifference,
) {
    for (name, old) in before.iter().filter(|(_, old)| !old.is_in_world) {
        match id_of(name, after) {
            Some(new) => {
                let (changed, added) = interface_changes(resolve, name, old.id, new.id);
                difference.breaks.extend(changed);
                difference.additions.extend(added);
            }
            None => difference.breaks.push(format!("interface {name}: it is gone")),
        }
    }
    let is_new = |name: &str, new: &PlainInterface| !new.is_in_world && id_of(name, before).is_none();
    let added = after.iter().filter(|(name, new)| is_new(name, new));
    difference.additions.extend(added.map(|(name, _)| format!("interface {name}")));
}

/// Adds a line where a package has a version that the one before does not fit: the numbers up to the first that is not
/// zero differ.
fn compare_versions(
    resolve: &Resolve,
    old: Option<PackageId>,
    new: Option<PackageId>,
    difference: &mut WitDifference,
) {
    let name = |id: Option<PackageId>| resolve.packages.get(id?).map(|package| &package.name);
    let (Some(old), Some(new)) = (name(old), name(new)) else { return };
    if track(old) != track(new) {
        let line = format!("{old} has become {new}, which is another major version");
        if !difference.breaks.contains(&line) {
            difference.breaks.push(line);
        }
    }
}

/// Returns the numbers of a version that must be equal in two that fit each other.
fn track(package: &PackageName) -> Option<String> {
    let version = package.version.as_ref()?;
    Some(match (version.major, version.minor, version.patch) {
        _ if !version.pre.is_empty() => version.to_string(),
        (0, 0, patch) => format!("0.0.{patch}"),
        (0, minor, _) => format!("0.{minor}"),
        (major, ..) => major.to_string(),
    })
}

/// Returns the package of an interface that a world has.
fn package_of(resolve: &Resolve, item: &WorldItem) -> Option<PackageId> {
    match item {
        WorldItem::Interface { id, .. } => resolve.interfaces.get(*id)?.package,
        _ => None,
    }
}

/// One import or export of a world: its name without version, and what it is.
struct WorldEntry<'a> {
    name: String,
    item: &'a WorldItem,
}

fn entries<'a>(
    resolve: &Resolve,
    items: impl Iterator<Item = (&'a WorldKey, &'a WorldItem)>,
) -> Vec<WorldEntry<'a>> {
    let entry = |(key, item)| {
        let name = resolve.name_world_key(key);
        let name = name.split_once('@').map(|(name, _)| name.to_owned()).unwrap_or(name);
        WorldEntry { name, item }
    };
    items.map(entry).collect()
}

/// Compares two versions of a world: the judgement is that of the component model, the lines say why.
fn compare_worlds(
    resolve: &Resolve,
    name: &str,
    old: WorldId,
    new: WorldId,
    difference: &mut WitDifference,
) -> anyhow::Result<()> {
    let judged = semver_check(resolve.clone(), old, new);
    let (Some(old), Some(new)) = (resolve.worlds.get(old), resolve.worlds.get(new)) else {
        bail!("the world {name} cannot be compared");
    };
    let (mut breaks, mut additions) = (Vec::new(), Vec::new());
    for (way, is_import, before, after) in
        [("import", true, &old.imports, &new.imports), ("export", false, &old.exports, &new.exports)]
    {
        let (before, after) = (entries(resolve, before.iter()), entries(resolve, after.iter()));
        for entry in &before {
            match after.iter().find(|other| other.name == entry.name) {
                Some(other) => {
                    let packages = (package_of(resolve, entry.item), package_of(resolve, other.item));
                    compare_versions(resolve, packages.0, packages.1, difference);
                    let (changed, added) = changes(resolve, entry, other);
                    breaks.extend(changed);
                    // A host may offer more functions than before; a component of before has no more than before.
                    if is_import { &mut additions } else { &mut breaks }.extend(added);
                }
                // A component may import less than it may, and export more than it must.
                None if is_import => breaks.push(format!("import {}: it is gone", entry.name)),
                None => additions.push(format!("export {}: no longer required", entry.name)),
            }
        }
        for entry in after.iter().filter(|entry| !before.iter().any(|known| known.name == entry.name)) {
            let line = format!("{way} {}", entry.name);
            if is_import {
                additions.push(line);
            } else {
                breaks.push(format!("{line}: it is new, and components that were built before lack it"));
            }
        }
    }
    let at = |line: String| format!("world {name}: {line}");
    match judged {
        Ok(()) => additions.extend(breaks),
        Err(error) if breaks.is_empty() => difference.breaks.push(at(format!("{error:#}"))),
        Err(_) => difference.breaks.extend(breaks.into_iter().map(at)),
    }
    difference.additions.extend(additions.into_iter().map(at));
    Ok(())
}

/// Returns what has changed or is gone in an interface or a function that both versions have, and what is new.
fn changes(resolve: &Resolve, old: &WorldEntry<'_>, new: &WorldEntry<'_>) -> (Vec<String>, Vec<String>) {
    match (old.item, new.item) {
        (WorldItem::Interface { id: before, .. }, WorldItem::Interface { id: after, .. }) => {
            interface_changes(resolve, &old.name, *before, *after)
        }
        (WorldItem::Function(before), WorldItem::Function(after)) => {
            let (before, after) = (signature(resolve, before), signature(resolve, after));
            let line = format!("{}: {before} has become {after}", old.name);
            (Vec::from_iter((before != after).then_some(line)), Vec::new())
        }
        _ => Default::default(),
    }
}

fn interface_changes(
    resolve: &Resolve,
    name: &str,
    old: InterfaceId,
    new: InterfaceId,
) -> (Vec<String>, Vec<String>) {
    let (Some(before), Some(after)) = (resolve.interfaces.get(old), resolve.interfaces.get(new)) else {
        return Default::default();
    };
    let mut lines = Vec::new();
    for (function, was) in &before.functions {
        let was = signature(resolve, was);
        match after.functions.get(function).map(|is| signature(resolve, is)) {
            None => lines.push(format!("{name}#{function}: it is gone")),
            Some(is) if is != was => lines.push(format!("{name}#{function}: {was} has become {is}")),
            Some(_) => {}
        }
    }
    let added = after.functions.keys().filter(|function| !before.functions.contains_key(*function));
    let added = added.map(|function| format!("{name}#{function}: it is new")).collect();
    let (was, is) = (definitions(resolve, old), definitions(resolve, new));
    for (title, text) in &was {
        match is.iter().find(|(other, _)| other == title) {
            None => lines.push(format!("{name}: {title} is gone")),
            Some((_, now)) if now != text => {
                lines.push(format!("{name}: {title} has become {now}, it was {text}"));
            }
            Some(_) => {}
        }
    }
    (lines, added)
}

/// Returns the definitions of types in an interface: what is before the first brace or sign, and the whole in one line.
fn definitions(resolve: &Resolve, interface: InterfaceId) -> Vec<(String, String)> {
    let mut printer = WitPrinter::default();
    if printer.emit_docs(false).print_interface(resolve, interface).is_err() {
        return Vec::new();
    }
    let text = printer.output.to_string();
    let mut found = Vec::new();
    let mut open = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('@')) {
        open = if open.is_empty() { line.to_owned() } else { format!("{open} {line}") };
        let is_complete = open.matches('{').count() == open.matches('}').count();
        if is_complete && (open.ends_with('}') || open.ends_with(';')) {
            let title = open.split(['{', '=', ';']).next().unwrap_or_default().trim().to_owned();
            if !open.contains("func(") && !open.starts_with("use ") {
                found.push((title, open.clone()));
            }
            open.clear();
        }
    }
    found
}
