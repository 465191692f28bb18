//! Arrows between crates of the host run down only.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{names, root};

/// Each crate of the platform, and the crates of this repository that it may use.
pub const PLATFORM: [(&str, &[&str]); 15] = [
    ("os", &[]),
    ("database", &["os"]),
    ("config", &["os"]),
    ("telemetry", &["config"]),
    ("http", &["config", "os", "telemetry"]),
    ("outgoing", &["config", "telemetry"]),
    ("runtime", &["config", "os", "telemetry"]),
    ("authoring", &["config", "runtime", "telemetry"]),
    ("keyvalue", &["config", "database", "os", "runtime", "telemetry"]),
    ("registry", &["config", "os", "outgoing", "telemetry"]),
    ("rollout", &["config", "database", "os", "runtime", "telemetry"]),
    ("service", &["config", "http", "os", "registry", "rollout", "runtime", "telemetry"]),
    ("cli", &["config", "os", "registry", "service"]),
    ("admin", &["config", "http", "os", "registry", "rollout", "runtime", "service", "telemetry"]),
    (
        "server",
        &[
            "admin",
            "authoring",
            "cli",
            "config",
            "http",
            "os",
            "registry",
            "rollout",
            "runtime",
            "service",
            "telemetry",
        ],
    ),
];
/// Crates of others that a crate must not know.
const FOREIGN: [(&str, &[&str]); 4] = [
    ("http", &["wasmtime", "wasmtime-wasi"]),
    ("outgoing", &["wasmtime", "wasmtime-wasi"]),
    ("registry", &["wasmtime", "wasmtime-wasi"]),
    ("runtime", &["axum", "hyper", "tower", "tower-http"]),
];

/// Crates under `components` that the host and the components share. Every other one belongs to components alone: a change
/// of one, such as a word in a list, does not rebuild the host.
const SHARED: [&str; 6] = [
    "bulkhead-answer-configuration",
    "bulkhead-status-figures",
    "bulkhead-text",
    "bulkhead-ticket-text",
    "bulkhead-triage-configuration",
    "bulkhead-triage-features",
];

/// Returns the lines of a section of a manifest's text that name a dependency.
fn lines<'m>(manifest: &'m str, section: &str) -> impl Iterator<Item = &'m str> {
    let section = manifest.split(section).nth(1).unwrap_or_default();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// Returns the dependencies in a manifest's text, without those of tests.
fn dependencies(manifest: &str) -> BTreeSet<&str> {
    let name = |line: &'_ str| -> Option<usize> { line.find([' ', '.', '=']) };
    lines(manifest, "[dependencies]").filter_map(|line| Some(&line[..name(line)?])).collect()
}

/// Returns the paths of the dependencies in a manifest's text, without those of tests.
fn paths(manifest: &str) -> Vec<&str> {
    let sections = ["[dependencies]", "[build-dependencies]"];
    let named = sections.into_iter().flat_map(|section| lines(manifest, section));
    named.filter_map(|line| line.split_once("path = \"")?.1.split('"').next()).collect()
}

fn read(folder: &Path) -> String {
    let path = folder.join("Cargo.toml");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn manifest(folder: &str) -> String {
    read(&root().join("host").join(folder))
}

/// Returns the folders of all crates of this repository that a crate is built of, relative to the top.
fn built_of(folder: &str) -> BTreeSet<PathBuf> {
    let top = root().canonicalize().unwrap();
    let mut found = BTreeSet::new();
    let mut pending = vec![top.join(folder)];
    while let Some(folder) = pending.pop() {
        if found.insert(folder.strip_prefix(&top).unwrap().to_owned()) {
            let manifest = read(&folder);
            pending.extend(paths(&manifest).iter().map(|path| folder.join(path).canonicalize().unwrap()));
        }
    }
    found
}

#[test]
fn platform_crates_use_those_below() {
    for (name, allowed) in PLATFORM {
        let manifest = manifest(name);
        let own = dependencies(&manifest).into_iter().filter_map(|name| name.strip_prefix("bulkhead-"));
        let refused: Vec<_> = own.filter(|used| !allowed.contains(used)).collect();
        assert!(refused.is_empty(), "host/{name} must not use {refused:?}");
    }
}

#[test]
fn http_and_runtime_know_each_other_not() {
    for (name, foreign) in FOREIGN {
        let manifest = manifest(name);
        let used = dependencies(&manifest);
        let refused: Vec<_> = foreign.iter().filter(|name| used.contains(*name)).collect();
        assert!(refused.is_empty(), "host/{name} must not use {refused:?}");
    }
}

#[test]
fn services_know_no_other_service() {
    let services = names(&root().join("host/services"));
    assert!(services.len() > 3, "{services:?}");
    for service in &services {
        let manifest = manifest(&format!("services/{service}"));
        let used = dependencies(&manifest);
        let others = services.iter().filter(|other| *other != service);
        let mut refused = others.map(|other| format!("bulkhead-{other}-service"));
        let known = refused.find(|name| used.contains(name.as_str()));
        assert_eq!(known, None, "host/services/{service}");
        assert!(!used.contains("bulkhead-admin"), "host/services/{service} must not use admin");
        assert!(!used.contains("bulkhead-server"), "host/services/{service} must not use the server");
        assert!(!used.contains("bulkhead"), "host/services/{service} must not use the binary");
    }
}

/// The texts of the manifests in a folder and below it.
fn manifests(folder: &Path) -> Vec<String> {
    let own = std::fs::read_to_string(folder.join("Cargo.toml")).ok();
    let below = names(folder).into_iter().map(|name| folder.join(name)).filter(|path| path.is_dir());
    own.into_iter().chain(below.flat_map(|path| manifests(&path))).collect()
}

/// The name of the package of a manifest.
fn package(manifest: &str) -> &str {
    let (_, rest) = manifest.split_once("name = \"").unwrap();
    rest.split('"').next().unwrap()
}

#[test]
fn service_uses_no_crate_of_another() {
    let folder = root().join("host/services");
    let services: Vec<(String, Vec<String>)> =
        names(&folder).into_iter().map(|name| (name.clone(), manifests(&folder.join(name)))).collect();
    assert!(services.iter().any(|(_, own)| own.len() > 1), "a service of several crates");
    for (service, own) in &services {
        let others = services.iter().filter(|(other, _)| other != service);
        let foreign: BTreeSet<&str> =
            others.flat_map(|(_, manifests)| manifests).map(|manifest| package(manifest)).collect();
        for manifest in own {
            let refused: Vec<_> = dependencies(manifest).intersection(&foreign).copied().collect();
            assert!(refused.is_empty(), "{} of {service} must not use {refused:?}", package(manifest));
        }
    }
}

#[test]
fn host_uses_no_crate_of_components_alone() {
    let of = |folder: &str| -> BTreeMap<String, String> {
        let all = manifests(&root().join(folder)).into_iter();
        all.map(|manifest| (package(&manifest).to_owned(), manifest)).collect()
    };
    let (host, components) = (of("host"), of("components"));
    assert!(host.len() > 20 && components.len() > 10, "{host:?} {components:?}");
    let shared = SHARED.map(|name| (name, components.get(name).unwrap()));
    for (name, manifest) in host.iter().map(|(name, text)| (name.as_str(), text)).chain(shared) {
        let used = dependencies(manifest);
        let refused: Vec<_> =
            used.iter().filter(|used| components.contains_key(**used) && !SHARED.contains(*used)).collect();
        assert!(refused.is_empty(), "{name} must not use {refused:?}, which belong to components alone");
    }
}

/// The name of a package without its prefix.
fn short(package: &str) -> &str {
    package.strip_prefix("bulkhead-").unwrap_or(package)
}

#[test]
fn picture_of_crates_shows_dependencies() {
    let page = std::fs::read_to_string(root().join("host/README.md")).unwrap();
    let (_, rest) = page.split_once("```mermaid\nflowchart TD\n").unwrap();
    let (picture, _) = rest.split_once("```").unwrap();
    let arrows = picture.lines().map(|line| line.trim().split_once(" --> ").unwrap());
    let shown: BTreeMap<&str, Vec<&str>> =
        arrows.map(|(from, to)| (from, to.split(" & ").collect())).collect();
    let all = manifests(&root().join("host"));
    let own: BTreeSet<&str> = all.iter().map(|manifest| short(package(manifest))).collect();
    assert!(shown.keys().all(|name| own.contains(name)), "{shown:?} has names of no crate of the host");
    for manifest in &all {
        let name = short(package(manifest));
        let used = dependencies(manifest).into_iter().filter_map(|used| used.strip_prefix("bulkhead-"));
        let used: BTreeSet<&str> = used.filter(|used| own.contains(used)).collect();
        let mut pending = shown.get(name).cloned().unwrap_or_default();
        let is_used = |to: &&str| used.contains(*to);
        assert!(pending.iter().all(is_used), "{name} has the arrows {pending:?}, uses {used:?}");
        let mut reached = BTreeSet::new();
        while let Some(at) = pending.pop() {
            if reached.insert(at) {
                pending.extend(shown.get(at).into_iter().flatten());
            }
        }
        assert!(used.is_subset(&reached), "{name} uses {used:?}, its arrows lead to {reached:?}");
    }
}

#[test]
fn server_and_foreign_binary_have_no_service() {
    let services = Path::new("host/services");
    for folder in ["host/server", "tests/adder"] {
        let crates = built_of(folder);
        assert!(crates.contains(Path::new("host/server")), "{crates:?}");
        let own: Vec<_> = crates.iter().filter(|used| used.starts_with(services)).collect();
        assert!(own.is_empty(), "{folder} must be built without {own:?}");
    }
    assert!(built_of("host").iter().any(|used| used.starts_with(services)));
}

#[test]
fn dependencies_of_a_manifest_are_seen() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\n# One.\na-b = \"1\"\nc.workspace = true\n\
                    e = { path = \"../e\" }\n\n[build-dependencies]\nf = { path = \"f\", features = [\"g\"] }\n\n\
                    [dev-dependencies]\nd = { path = \"../d\" }\n";
    assert_eq!(Vec::from_iter(dependencies(manifest)), ["a-b", "c", "e"]);
    assert_eq!(paths(manifest), ["../e", "f"]);
}
