//! First-party components import what they need and nothing else.

use wit_parser::decoding::{DecodedWasm, decode};

use super::{names, root};

/// Each first-party component and all that it imports.
const COMPONENTS: &[(&str, &[&str])] = &[
    (
        "answer",
        &[
            "bulkhead:answer/items@0.1.1",
            "bulkhead:answer/search@0.1.1",
            "bulkhead:host/guard@0.1.1",
            "bulkhead:host/llm@0.1.1",
            "wasi:logging/logging@0.1.0-draft",
        ],
    ),
    (
        "captcha",
        &[
            "bulkhead:captcha/ledger@0.1.1",
            "bulkhead:captcha/pow@0.1.1",
            "bulkhead:host/keys@0.1.1",
            "wasi:clocks/wall-clock@0.2.12",
            "wasi:logging/logging@0.1.0-draft",
            "wasi:random/random@0.2.12",
        ],
    ),
    (
        "embed-probe",
        &[
            "bulkhead:host/embeddings@0.1.1",
            "bulkhead:host/rerank@0.1.1",
            "wasi:logging/logging@0.1.0-draft",
            "wasi:nn/errors@0.2.0-rc-2024-10-28",
            "wasi:nn/graph@0.2.0-rc-2024-10-28",
            "wasi:nn/inference@0.2.0-rc-2024-10-28",
            "wasi:nn/tensor@0.2.0-rc-2024-10-28",
        ],
    ),
    ("status", &["bulkhead:status/appointments@0.1.1", "wasi:logging/logging@0.1.0-draft"]),
    (
        "triage",
        &[
            "bulkhead:host/guard@0.1.1",
            "bulkhead:host/llm@0.1.1",
            "wasi:clocks/wall-clock@0.2.12",
            "wasi:logging/logging@0.1.0-draft",
            "wasi:nn/errors@0.2.0-rc-2024-10-28",
            "wasi:nn/graph@0.2.0-rc-2024-10-28",
            "wasi:nn/inference@0.2.0-rc-2024-10-28",
            "wasi:nn/tensor@0.2.0-rc-2024-10-28",
        ],
    ),
];

/// Packages that no first-party component may have: files, network, processes, terminals, streams. For others the host
/// has stubs of most.
const FORBIDDEN: &[&str] = &["wasi:filesystem/", "wasi:sockets/", "wasi:cli/", "wasi:http/", "wasi:io/"];

fn imports(component: &str) -> Vec<String> {
    let path = root().join("target/components").join(component).with_extension("wasm");
    let wasm = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `just components`", path.display()));
    let DecodedWasm::Component(resolve, world) = decode(&wasm).unwrap() else {
        panic!("{component} is not a component");
    };
    let mut imports: Vec<String> =
        resolve.worlds[world].imports.keys().map(|key| resolve.name_world_key(key)).collect();
    imports.sort();
    imports
}

/// A crate without a `cdylib` is built into the others, and a folder without a crate is not built.
#[test]
fn every_component_is_listed() {
    let listed: Vec<_> = COMPONENTS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let folder = root().join("components");
    let component = |name: &String| {
        let manifest = std::fs::read_to_string(folder.join(name).join("Cargo.toml"));
        manifest.is_ok_and(|manifest| manifest.contains("\"cdylib\""))
    };
    let folders = names(&folder).into_iter().filter(|name| folder.join(name).is_dir());
    let components: Vec<_> = folders.filter(component).collect();
    assert_eq!(components, listed);
}

#[test]
fn components_import_what_is_listed() {
    for (component, expected) in COMPONENTS {
        let imports = imports(component);
        assert_eq!(imports, *expected, "{component}");
        let forbidden = |import: &&String| FORBIDDEN.iter().any(|package| import.starts_with(package));
        assert_eq!(imports.iter().find(forbidden), None, "{component}");
    }
}
