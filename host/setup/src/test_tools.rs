//! Installs the programs that the test suite uses: a browser, servers, npm and Python packages.

mod python;

use std::path::Path;

use crate::command::{Outcome, capture, find, program};
use crate::{apt, files, paths};

/// The npm packages, pinned exactly, since the tests compare with what these very versions do: `altcha`, the captcha
/// widget that the browser test solves with; `altcha-lib`, the Node server that the benchmark compares with; `openai`,
/// a client of the embedding service, whose next major release wants Node.js 22; `playwright-core`, which drives the
/// installed Chromium and brings no browser of its own.
const NPM_MANIFEST: &str = include_str!("test_tools/package.json");

/// The packages and their dependencies by digest, without addresses, so that any registry may serve them. After a
/// change to the manifest run `npm install --package-lock-only --omit-lockfile-registry-resolved` in its folder to
/// update this file.
const NPM_LOCK: &str = include_str!("test_tools/package-lock.json");

/// Installs what is missing.
pub fn install() -> Outcome {
    system_packages()?;
    npm_packages(&paths::target().join("test-tools/node"))?;
    python::install(&paths::target().join("test-tools/python"))
}

fn system_packages() -> Outcome {
    let mut wanted = Vec::new();
    if find("chromium").is_none() {
        wanted.push("chromium");
    }
    if !has_postgresql() {
        wanted.push("postgresql");
    }
    if !has("mariadbd") {
        wanted.push("mariadb-server");
    }
    if !has("prometheus") || !has("promtool") {
        wanted.push("prometheus");
    }
    if find("docker-registry").is_none() {
        wanted.push("docker-registry");
    }
    if find("valgrind").is_none() {
        wanted.push("valgrind");
    }
    if !python::is_here() {
        wanted.push("python3-venv");
    }
    if wanted.is_empty() {
        println!(
            "test tools: Chromium, PostgreSQL, MariaDB, Prometheus, an OCI registry, Valgrind and Python are here"
        );
        return Ok(());
    }
    if !apt::is_here() {
        return Err(format!("install with your package manager: {}", wanted.join(" ")));
    }
    apt::install("test tools", &wanted)
}

/// Returns whether a program is in `PATH`, or in Debian's folder of servers, which an ordinary user's `PATH` lacks.
fn has(name: &str) -> bool {
    find(name).is_some() || Path::new("/usr/sbin").join(name).is_file()
}

/// Returns whether the server's programs are installed; Debian has them outside of `PATH`, in a folder per version.
fn has_postgresql() -> bool {
    let versions = files::entries(Path::new("/usr/lib/postgresql"));
    find("initdb").is_some() || versions.iter().any(|version| version.join("bin/initdb").is_file())
}

/// Installs the npm packages, unless the stored lock file is the same.
fn npm_packages(folder: &Path) -> Outcome {
    let stamp = folder.join("installed.json");
    let count = NPM_LOCK.matches("\"integrity\": ").count();
    if files::holds(&stamp, NPM_LOCK.as_bytes()) {
        println!("test tools: {count} npm packages are here");
        return Ok(());
    }
    if find("node").is_none() || find("npm").is_none() {
        return Err("node and npm are needed for tests; install Node.js 20 or later".to_owned());
    }
    println!("test tools: installing {count} npm packages");
    files::remove_folder(folder)?;
    files::write(&folder.join("package.json"), NPM_MANIFEST.as_bytes())?;
    files::write(&folder.join("package-lock.json"), NPM_LOCK.as_bytes())?;
    let args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    capture(program("npm", args).current_dir(folder))?;
    files::write(&stamp, NPM_LOCK.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_npm_package_is_locked_by_digest() {
        assert_eq!(NPM_LOCK.matches("\"node_modules/").count(), NPM_LOCK.matches("\"integrity\": ").count());
        assert!(!NPM_LOCK.contains("\"resolved\""), "{NPM_LOCK}");
        for line in NPM_MANIFEST.lines().filter(|line| line.starts_with("    ")) {
            assert!(NPM_LOCK.contains(&format!("    {line}\n")), "{line}: not in the lock file");
        }
    }
}
