//! What holds the architecture up: layers, contracts, names and sizes, read from the sources themselves.

mod bindings;
mod capabilities;
mod config_keys;
mod crates;
mod cycles;
mod files;
mod golden;
mod imports;
mod layers;
mod own_service;
mod packages;
mod pages;
mod slots;
mod source;
mod tables;
mod test_names;
mod wit;
mod words;

use std::path::{Path, PathBuf};

/// The top of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Names in a folder that are not hidden, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}
