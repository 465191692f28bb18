//! Lists the crates that a binary or a component is built of, with what `Cargo.lock` says of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::command::{Outcome, capture, cargo};
use crate::{files, paths};

/// What `cargo tree` prints of each crate: name and version, licence, repository.
const FORMAT: &str = "{p}\t{l}\t{r}";

/// A crate of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkedCrate {
    /// An SPDX expression.
    pub licence: String,
    /// A URL, or nothing.
    pub repository: String,
    /// Whether it is part of this repository.
    pub is_own: bool,
}

/// The crates of a build, by name and version.
pub(super) type Crates = BTreeMap<(String, String), LinkedCrate>;

/// Returns the crates that a package of the workspace links for a target, without those that only build it. `features` are
/// arguments of cargo.
pub(super) fn linked(package: &str, target: &str, features: &[&str]) -> Outcome<Crates> {
    let listed = capture(
        cargo(["tree", "--locked", "--prefix", "none", "--edges", "no-dev,no-build,no-proc-macro"])
            .args(["--format", FORMAT, "--target", target, "-p", package])
            .args(features)
            .current_dir(paths::workspace()),
    )?;
    let crates: Crates = listed.lines().filter_map(read).collect();
    if crates.is_empty() {
        return Err(format!("cannot read what `cargo tree -p {package}` says:\n{listed}"));
    }
    Ok(crates)
}

/// Reads one line of `cargo tree`. A crate whose dependencies were listed before ends with ` (*)`.
fn read(line: &str) -> Option<((String, String), LinkedCrate)> {
    let line = line.trim_end().trim_end_matches("(*)").trim_end_matches(' ');
    let mut fields = line.split('\t');
    let mut identity = fields.next()?.split(' ');
    let (name, version) = (identity.next()?, identity.next()?.strip_prefix('v')?);
    // Only a crate of a path has one after its version.
    let is_own = identity.any(|rest| rest.starts_with("(/"));
    let mut text = || fields.next().unwrap_or_default().to_owned();
    let (licence, repository) = (text(), text());
    Some(((name.to_owned(), version.to_owned()), LinkedCrate { licence, repository, is_own }))
}

/// What the lock file says of a crate.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Locked {
    /// SHA-256 of the archive in the registry, hex digits.
    pub checksum: Option<String>,
    /// Names, each with a version where there are several.
    pub dependencies: Vec<String>,
}

/// Reads the workspace's lock file.
pub(super) fn lock_file() -> Outcome<BTreeMap<(String, String), Locked>> {
    Ok(locked(&files::read(&paths::workspace().join("Cargo.lock"))?))
}

fn locked(text: &str) -> BTreeMap<(String, String), Locked> {
    let packages = text.split("[[package]]\n").skip(1);
    packages
        .filter_map(|package| {
            let value = |key: &str| {
                package
                    .lines()
                    .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
            };
            let list = package.split_once("dependencies = [\n").map_or("", |(_, list)| list);
            let list = list.lines().take_while(|line| *line != "]");
            let dependencies = list.map(|line| line.trim_matches([' ', ',', '"']).to_owned()).collect();
            let identity = (value("name")?.to_owned(), value("version")?.to_owned());
            Some((identity, Locked { checksum: value("checksum").map(str::to_owned), dependencies }))
        })
        .collect()
}

/// Returns the folder with a crate's sources from the registry, if cargo has unpacked it.
pub(super) fn sources(name: &str, version: &str) -> Option<PathBuf> {
    let registries = files::entries(&paths::cargo_home()?.join("registry/src"));
    registries.iter().map(|registry| registry.join(format!("{name}-{version}"))).find(|path| path.is_dir())
}

/// Returns the files of a folder whose names begin so, whatever their case.
pub(super) fn files_named(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    let is_named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        path.is_file() && name.starts_with(beginning)
    };
    files::entries(folder).into_iter().filter(is_named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, version: &str) -> (String, String) {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn crates_are_read_from_the_tree() {
        let repository = String::from("https://example.org/a");
        let licence = String::from("MIT OR Apache-2.0");
        let found = LinkedCrate { licence, repository, is_own: false };
        for line in [
            "a v1.2.3\tMIT OR Apache-2.0\thttps://example.org/a",
            "a v1.2.3\tMIT OR Apache-2.0\thttps://example.org/a (*)",
        ] {
            assert_eq!(read(line), Some((identity("a", "1.2.3"), found.clone())));
        }
        let (own, of_path) = read("b v0.1.0 (/tmp/x/b)\tApache-2.0\t").unwrap();
        assert_eq!(own, identity("b", "0.1.0"));
        assert!(of_path.is_own && of_path.repository.is_empty());
        assert_eq!(read(""), None);
    }

    #[test]
    fn lock_file_names_checksums_and_dependencies() {
        let text = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"s\"\nchecksum = \"0f\"\n\
                    dependencies = [\n \"b\",\n \"c 2.0.0\",\n]\n\n[[package]]\nname = \"b\"\nversion = \"0.1.0\"\n";
        let read = locked(text);
        let a = read.get(&identity("a", "1.0.0")).unwrap();
        assert_eq!((a.checksum.as_deref(), a.dependencies.join("|")), (Some("0f"), "b|c 2.0.0".to_owned()));
        assert_eq!(read.get(&identity("b", "0.1.0")), Some(&Locked::default()));
    }
}
