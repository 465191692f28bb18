//! Installs tools through cargo.

use crate::command::{Outcome, cargo, run, succeeds};

/// Installs `cargo-NAME` where it is missing, of a version that `requirement` allows.
pub fn install(name: &str, requirement: &str) -> Outcome {
    if succeeds(&mut cargo([name, "--version"])) {
        return Ok(());
    }
    let package = format!("cargo-{name}");
    println!("{package}: installing {requirement} with cargo");
    run(&mut cargo(["install", "--quiet", "--locked", &package, "--version", requirement]))
}
