//! What `just lint` runs beside the toolchain's own tools.

use crate::command::{Outcome, cargo, run, succeeds};

/// Checks licences, sources and advisories; pinned to the line that the configuration is for.
const CARGO_DENY: &str = "^0.20";

/// Installs cargo-deny where it is missing and checks that rustfmt and clippy are here.
pub fn install() -> Outcome {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !succeeds(&mut cargo([tool, "--version"])) {
            return Err(format!("no {component}; run: rustup component add {component}"));
        }
    }
    if succeeds(&mut cargo(["deny", "--version"])) {
        println!("lint tools: rustfmt, clippy and cargo-deny are here");
        return Ok(());
    }
    println!("lint tools: installing cargo-deny {CARGO_DENY} with cargo");
    run(&mut cargo(["install", "--quiet", "--locked", "cargo-deny", "--version", CARGO_DENY]))
}
