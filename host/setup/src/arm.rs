//! Runs `just arm`: tests of the embedding engine on 64-bit ARM, emulated by qemu on other machines.

use crate::command::{Outcome, cargo, run};
use crate::rustc::Rustc;
use crate::target_std::{self, ARM};
use crate::{apt, files, paths};

/// The linker with its libraries, and the emulator.
const PACKAGES: [&str; 3] = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"];
/// Runs a program for ARM, with the cross compiler's libraries.
const RUNNER: &str = "qemu-aarch64 -L /usr/aarch64-linux-gnu";

/// Crates of the embedding engine.
const CRATES: [&str; 3] = ["bulkhead-kernels", "bulkhead-tokenizers", "bulkhead-inference"];

/// Builds the tests for ARM and runs those that `filters` name, or all.
pub fn test(filters: &[String]) -> Outcome {
    if !apt::missing(&PACKAGES).is_empty() {
        apt::install("ARM", &PACKAGES)?;
    }
    let compiler = target_std::find(Rustc::ask("rustc")?, ARM)?;
    let mut command = cargo(["test", "--release", "--locked", "--lib", "--tests"]);
    command
        .args(CRATES.into_iter().flat_map(|name| ["-p", name]))
        .args(["--target", ARM.name, "--target-dir"])
        .arg(paths::target().join("arm"))
        .arg("--")
        .args(filters)
        .current_dir(paths::workspace())
        .env("RUSTC", &compiler.rustc.program)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", RUNNER);
    if let Some(sysroot) = &compiler.sysroot {
        command.env("CARGO_ENCODED_RUSTFLAGS", format!("--sysroot={}", sysroot.display()));
    }
    let kernels = paths::target().join("arm").join(ARM.name).join("release/kernels.txt");
    // The file does not exist before the first run.
    let _ = std::fs::remove_file(&kernels);
    run(&mut command)?;
    // Written where the kernels' tests were among those that ran.
    print!("{}", files::read(&kernels).unwrap_or_default());
    Ok(())
}
