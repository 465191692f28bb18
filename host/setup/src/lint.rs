//! Installs the tools that `just lint` needs besides the toolchain's own.

use crate::command::{Outcome, cargo, succeeds};
use crate::{fuzz, install::cargo_tool};

/// Checks licences, sources and advisories; pinned to the line that the configuration is for.
const CARGO_DENY: &str = "^0.20";

/// Installs cargo-deny where it is missing, locks what the fuzz targets use, and checks that rustfmt and clippy are
/// here.
pub fn install() -> Outcome {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !succeeds(&mut cargo([tool, "--version"])) {
            return Err(format!("no {component}; run: rustup component add {component}"));
        }
    }
    cargo_tool::install("deny", CARGO_DENY, &[])?;
    fuzz::lock()?;
    println!("lint tools: rustfmt, clippy and cargo-deny are here");
    Ok(())
}
