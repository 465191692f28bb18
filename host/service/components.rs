//! Finds the components that a service brings, for its build script.

use std::{env, path::PathBuf};

/// Gives the compiler the files of `components`, folders under `components/`, as `BULKHEAD_COMPONENT_NAME`.
pub(super) fn find(components: &[&str]) {
    let Some(root) = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else { return };
    println!("cargo::rerun-if-env-changed=BULKHEAD_PACKS");
    let (folder, extension) = match env::var_os("BULKHEAD_PACKS") {
        Some(packs) => (PathBuf::from(packs), "cwasm"),
        None => (root.join("../../../target/components"), "wasm"),
    };
    for name in components {
        let file = folder.join(name).with_extension(extension);
        println!("cargo::rerun-if-changed={}", file.display());
        if !file.is_file() {
            println!("cargo::error=the {name} component is not built yet; run `just components`");
        }
        println!("cargo::rustc-env=BULKHEAD_COMPONENT_{}={}", name.to_uppercase(), file.display());
    }
}
