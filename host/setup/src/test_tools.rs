//! What the test suite drives beside the host: a browser, servers, npm and Python packages.

mod python;

use std::path::Path;

use crate::command::{Outcome, capture, find, program};
use crate::{apt, files, places};

/// Pinned exactly, since the tests compare with what these very versions do.
const NPM_PACKAGES: [(&str, &str); 4] = [
    // The captcha widget that the browser test solves with.
    ("altcha", "3.2.2"),
    // The Node server that the benchmark compares with.
    ("altcha-lib", "2.8.0"),
    // A client of the embedding service; the next major release wants Node.js 22.
    ("openai", "6.49.0"),
    // Drives the installed Chromium; brings no browser of its own.
    ("playwright-core", "1.64.1"),
];

/// Installs what is missing.
pub fn install() -> Outcome {
    system_packages()?;
    npm_packages(&places::target().join("test-tools/node"))?;
    python::install(&places::target().join("test-tools/python"))
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

/// True when a program is in `PATH`, or where Debian keeps servers, which an ordinary user's `PATH` leaves out.
fn has(name: &str) -> bool {
    find(name).is_some() || Path::new("/usr/sbin").join(name).is_file()
}

/// True when the server's programs are here; Debian keeps them out of `PATH`, a folder a version.
fn has_postgresql() -> bool {
    let versions = files::entries(Path::new("/usr/lib/postgresql"));
    find("initdb").is_some() || versions.iter().any(|version| version.join("bin/initdb").is_file())
}

/// Installs the npm packages; the manifest written last time tells whether they are the same.
fn npm_packages(folder: &Path) -> Outcome {
    let manifest = manifest();
    let stamp = folder.join("installed.json");
    let names = NPM_PACKAGES.map(|(name, version)| format!("{name} {version}")).join(", ");
    if files::holds(&stamp, manifest.as_bytes()) {
        println!("test tools: {names} are here");
        return Ok(());
    }
    if find("node").is_none() || find("npm").is_none() {
        return Err("node and npm are needed for tests; install Node.js 20 or later".to_owned());
    }
    println!("test tools: installing {names} with npm");
    files::remove_folder(folder)?;
    files::write(&folder.join("package.json"), manifest.as_bytes())?;
    let args = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
    capture(program("npm", args).current_dir(folder))?;
    files::write(&stamp, manifest.as_bytes())
}

fn manifest() -> String {
    let lines = NPM_PACKAGES.map(|(name, version)| format!("    \"{name}\": \"{version}\""));
    format!("{{\n  \"private\": true,\n  \"dependencies\": {{\n{}\n  }}\n}}\n", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_pins_every_package() {
        let manifest = manifest();
        assert!(manifest.contains("\"altcha\": \"3.2.2\",\n"), "{manifest}");
        assert_eq!(manifest.matches(',').count(), NPM_PACKAGES.len(), "{manifest}");
    }
}
