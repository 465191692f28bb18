//! Builds for 64-bit ARM, and runs `just arm`: tests of the embedding engine, emulated by qemu on other machines.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Outcome, cargo, program, run};
use crate::toolchain::rustc::Rustc;
use crate::toolchain::target_std::{self, ARM, Compiler};
use crate::{files, install::apt, paths};

/// The linker with its libraries, and the emulator.
const PACKAGES: [&str; 3] = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"];
/// Runs a program for ARM, with the cross compiler's libraries.
const RUNNER: [&str; 3] = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];

/// Crates of the embedding engine.
const CRATES: [&str; 5] =
    ["bulkhead-inference", "bulkhead-heads", "bulkhead-kernels", "bulkhead-sources", "bulkhead-tokenizers"];
/// Tests that cannot be emulated: Valgrind counts the steps of programs for this machine.
const SKIPPED: &str = "steps::";

/// Installs what builds for ARM, and returns the compiler.
pub fn prepare() -> Outcome<Compiler> {
    if !apt::missing(&PACKAGES).is_empty() {
        apt::install("ARM", &PACKAGES)?;
    }
    target_std::find(Rustc::ask("rustc")?, ARM)
}

/// Returns the folder of everything that is built for ARM.
pub fn folder() -> PathBuf {
    paths::target().join("arm")
}

/// Has a command of cargo build for ARM, with these flags of the compiler.
pub fn cross(command: &mut Command, compiler: &Compiler, mut flags: Vec<String>) {
    if let Some(sysroot) = &compiler.sysroot {
        flags.push(format!("--sysroot={}", sysroot.display()));
    }
    command
        .args(["--target", ARM.name, "--target-dir"])
        .arg(folder())
        .current_dir(paths::workspace())
        .env("RUSTC", &compiler.rustc.program)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", RUNNER.join(" "));
    if !flags.is_empty() {
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    }
}

/// Returns the command that runs a program for ARM here.
pub fn emulated(binary: &Path) -> Command {
    let [emulator, option, libraries] = RUNNER;
    let mut command = program(emulator, [option, libraries]);
    command.arg(binary);
    command
}

/// Builds the tests for ARM and runs those that `filters` name, or all.
pub fn test(filters: &[String]) -> Outcome {
    let compiler = prepare()?;
    let mut command = cargo(["test", "--release", "--locked", "--no-fail-fast", "--lib", "--tests"]);
    command.args(CRATES.into_iter().flat_map(|name| ["-p", name]));
    cross(&mut command, &compiler, Vec::new());
    command.args(["--", "--skip", SKIPPED]).args(filters);
    let kernels = folder().join(ARM.name).join("release/kernels.txt");
    // The file does not exist before the first run.
    let _ = std::fs::remove_file(&kernels);
    run(&mut command)?;
    // Written where the kernels' tests were among those that ran.
    print!("{}", files::read(&kernels).unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_of_the_engine_is_tested() {
        let engine = paths::workspace().join("host/inference");
        let folders = files::entries(&engine).into_iter().chain([engine]);
        let manifests = folders.filter_map(|folder| files::read(&folder.join("Cargo.toml")).ok());
        let mut found: Vec<String> = manifests
            .filter_map(|manifest| Some(crate::guests::manifest::names(&manifest)?.package))
            .collect();
        found.sort();
        let mut named = CRATES;
        named.sort_unstable();
        assert_eq!(found, named);
    }
}
