//! Installs tools through cargo.

use crate::command::{Outcome, cargo, run, succeeds};

/// Installs `cargo-NAME` where it is missing, of a version that `requirement` allows, with these features.
pub fn install(name: &str, requirement: &str, features: &[&str]) -> Outcome {
    if succeeds(&mut cargo([name, "--version"])) {
        return Ok(());
    }
    let package = format!("cargo-{name}");
    println!("{package}: installing {requirement} with cargo");
    let mut install = cargo(["install", "--quiet", "--locked", &package, "--version", requirement]);
    run(install.args(features.iter().flat_map(|feature| ["--features", *feature])))
}
