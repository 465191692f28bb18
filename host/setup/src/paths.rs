//! Returns the folders of the workspace, of build results and of caches.

use std::path::{Path, PathBuf};

/// Returns the workspace's top folder. `cargo run` sets the current one; the folder at compile time may be another
/// clone that shares a target folder.
pub fn workspace() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    here.ancestors().nth(2).unwrap_or(&here).to_path_buf()
}

/// Returns the folder for everything that can be built again.
pub fn target() -> PathBuf {
    workspace().join("target")
}

/// Returns the cache that clones on the same machine share; without a home folder it is in the clone.
pub fn cache() -> PathBuf {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(target)
        .join("bulkhead")
}

/// Returns the folder where cargo keeps the sources of dependencies.
pub fn cargo_home() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}
