//! Finds the components that the service brings.

use std::{env, path::PathBuf};

/// Folders under `components/` whose components the service carries.
const COMPONENTS: [&str; 2] = ["answer", "triage"];

fn main() {
    let Some(root) = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else { return };
    println!("cargo::rerun-if-env-changed=BULKHEAD_PACKS");
    let (folder, extension) = match env::var_os("BULKHEAD_PACKS") {
        Some(packs) => (PathBuf::from(packs), "cwasm"),
        None => (root.join("../../../target/components"), "wasm"),
    };
    for name in COMPONENTS {
        let file = folder.join(name).with_extension(extension);
        println!("cargo::rerun-if-changed={}", file.display());
        if !file.is_file() {
            println!("cargo::error=the {name} component is not built yet; run `just components`");
        }
        println!("cargo::rustc-env=BULKHEAD_COMPONENT_{}={}", name.to_uppercase(), file.display());
    }
}
