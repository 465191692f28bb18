//! Worlds change visibly: a golden file each holds its imports and exports with their types.

use std::{collections::BTreeSet, fmt::Write as _, path::PathBuf};

use wit_component::WitPrinter;
use wit_parser::{Function, InterfaceId, Resolve, Type, World, WorldId, WorldItem, WorldKey};

use super::{
    golden::{self, assert_golden},
    names, root,
};

/// Every package under `wit/`.
pub fn everything() -> Resolve {
    let wit = root().join("wit");
    let folders = |folder: PathBuf| {
        names(&folder).into_iter().map(move |name| folder.join(name)).filter(|path| path.is_dir())
    };
    let own = folders(wit.clone()).filter(|folder| !folder.ends_with("deps"));
    let mut pending: Vec<PathBuf> = folders(wit.join("deps")).collect();
    let mut resolve = Resolve::default();
    // A package can be read after those that it uses.
    while !pending.is_empty() {
        let (mut later, mut problems) = (Vec::new(), Vec::new());
        for folder in &pending {
            let mut trial = resolve.clone();
            match trial.push_dir(folder) {
                Ok(_) => resolve = trial,
                Err(error) => {
                    problems.push(format!("{error:#}"));
                    later.push(folder.clone());
                }
            }
        }
        assert!(later.len() < pending.len(), "{later:?} cannot be read: {problems:#?}");
        pending = later;
    }
    for folder in own {
        // A package brings links to those that it uses.
        let mut package = Resolve::default();
        package.push_dir(&folder).unwrap_or_else(|error| panic!("{}: {error:#}", folder.display()));
        resolve.merge(package).unwrap_or_else(|error| panic!("{}: {error:#}", folder.display()));
    }
    resolve
}

/// The worlds of Bulkhead's own packages, with names such as `captcha/captcha`.
pub fn worlds(resolve: &Resolve) -> Vec<(String, WorldId)> {
    let own = resolve.packages.iter().filter(|(_, package)| package.name.namespace == "bulkhead");
    let worlds = own.flat_map(|(_, package)| {
        package.worlds.iter().map(|(name, id)| (format!("{}/{name}", package.name.name), *id))
    });
    worlds.collect()
}

fn type_name(resolve: &Resolve, kind: &Type) -> String {
    let mut printer = WitPrinter::default();
    printer.print_type_name(resolve, kind).unwrap();
    printer.output.to_string()
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let parameters = function.params.iter();
    let parameters = parameters.map(|one| format!("{}: {}", one.name, type_name(resolve, &one.ty)));
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    let result = function.result.map(|kind| format!(" -> {}", type_name(resolve, &kind)));
    format!("func({parameters}){}", result.unwrap_or_default())
}

/// The types and functions of an interface, without its name and without comments.
pub fn contents(resolve: &Resolve, interface: InterfaceId) -> String {
    let mut printer = WitPrinter::default();
    printer.emit_docs(false).print_interface(resolve, interface).unwrap();
    printer.output.to_string()
}

/// One import or export, with everything that a component can see of it.
fn item(resolve: &Resolve, key: &WorldKey, item: &WorldItem) -> String {
    let name = resolve.name_world_key(key);
    match item {
        WorldItem::Function(function) => format!("{name}: {}", signature(resolve, function)),
        WorldItem::Type { .. } => format!("type {name}"),
        WorldItem::Interface { id, .. } => {
            let text = contents(resolve, *id);
            let mut block = format!("{name} {{\n");
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                writeln!(block, "  {line}").unwrap();
            }
            block + "}"
        }
    }
}

fn describe(resolve: &Resolve, name: &str, world: &World) -> String {
    let mut text = format!("world {name}\n");
    let items = world.imports.iter().map(|entry| ("import", entry));
    for (way, (key, found)) in items.chain(world.exports.iter().map(|entry| ("export", entry))) {
        write!(text, "\n{way} {}\n", item(resolve, key, found)).unwrap();
    }
    text
}

#[test]
fn worlds_are_as_they_were_accepted() {
    let resolve = everything();
    for (name, id) in worlds(&resolve) {
        let world = &resolve.worlds[id];
        let package = &resolve.packages[world.package.unwrap()].name;
        let full = package.interface_id(&world.name);
        assert_golden(&format!("worlds/{name}.txt"), &describe(&resolve, &full, world));
    }
}

#[test]
fn every_golden_file_has_its_world() {
    let mut kept = BTreeSet::new();
    for package in names(&golden::folder().join("worlds")) {
        let folder = golden::folder().join("worlds").join(&package);
        kept.extend(names(&folder).into_iter().map(|file| format!("{package}/{file}")));
    }
    let worlds = worlds(&everything()).into_iter().map(|(name, _)| format!("{name}.txt")).collect();
    assert_eq!(kept, worlds);
}

#[test]
fn every_service_world_can_be_tried() {
    let resolve = everything();
    for (name, id) in worlds(&resolve) {
        let exports = &resolve.worlds[id].exports;
        // A world of imports only, for hosts, has nothing to try.
        if exports.is_empty() {
            continue;
        }
        let tested = exports.iter().find_map(|(key, item)| match item {
            WorldItem::Function(function) if resolve.name_world_key(key) == "self-test" => Some(function),
            _ => None,
        });
        let tested = tested.unwrap_or_else(|| panic!("the world {name} exports no self-test"));
        assert_eq!(signature(&resolve, tested), "func() -> result<_, string>", "{name}");
    }
}
