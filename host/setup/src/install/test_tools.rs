//! Installs the programs that the test suite uses: a browser, servers, npm and Python packages.

use std::path::Path;

use crate::command::{Outcome, find};
use crate::install::npm::NpmPackages;
use crate::install::python::{self, PythonPackages};
use crate::{files, install::apt, paths};

/// The npm packages, pinned exactly, since the tests compare with what these very versions do: `altcha`, the captcha
/// widget that the browser test solves with; `altcha-lib`, the Node server that the benchmark compares with; `openai`,
/// a client of the embedding service, whose next major release wants Node.js 22, and `@huggingface/inference`, another;
/// `playwright-core`, which drives the installed Chromium and brings no browser of its own.
pub const NPM: NpmPackages = NpmPackages {
    manifest: include_str!("test_tools/package.json"),
    lock: include_str!("test_tools/package-lock.json"),
};

/// The Python packages, since the tests compare with exactly these versions.
pub const PYTHON: PythonPackages = PythonPackages(include_str!("test_tools/python.txt"));

/// The name of this step.
const STEP: &str = "test tools";

/// Installs what is missing.
pub fn install() -> Outcome {
    system_packages()?;
    NPM.install(STEP, &paths::target().join("test-tools/node"))?;
    PYTHON.install(STEP, &paths::target().join("test-tools/python"))
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
    if find("systemd-analyze").is_none() {
        wanted.push("systemd");
    }
    if !python::is_here() {
        wanted.push("python3-venv");
    }
    if wanted.is_empty() {
        println!(
            "test tools: Chromium, PostgreSQL, MariaDB, Prometheus, an OCI registry, Valgrind, systemd and Python are here"
        );
        return Ok(());
    }
    if !apt::is_here() {
        return Err(format!("install with your package manager: {}", wanted.join(" ")));
    }
    apt::install(STEP, &wanted)
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
