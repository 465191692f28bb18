//! Where things lie.

use std::path::{Path, PathBuf};

/// The workspace's top folder. `cargo run` says where it is now; what was true when this program
/// was compiled may be another clone that shares a target folder.
pub fn workspace() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    here.ancestors().nth(2).unwrap_or(&here).to_path_buf()
}

/// The folder for everything that can be made again.
pub fn target() -> PathBuf {
    workspace().join("target")
}

/// What outlives a clone, so that a second clone on the same machine is quick; without a home
/// folder it stays in the clone.
pub fn cache() -> PathBuf {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(target)
        .join("bulkhead")
}

/// Where cargo keeps the sources of dependencies.
pub fn cargo_home() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}
