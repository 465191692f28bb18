//! Prepares a machine to build and test Bulkhead. Each step says in one line what it does, and a
//! step that finds its work done does nothing.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod apt;
mod command;
mod components;
mod files;
mod lint;
mod manifest;
mod places;
mod rustc;
mod test_tools;
mod wasm_std;

use std::process::ExitCode;

const HELP: &str = "\
Prepares a machine to build and test Bulkhead.

Usage: setup <STEP>

Steps:
  components  find or build std for WebAssembly, then build every component into target/components
  tests       install what the test suite drives: Chromium, PostgreSQL, npm and Python packages
  lint        install what `just lint` runs
";

fn main() -> ExitCode {
    let step = std::env::args().nth(1).unwrap_or_default();
    let outcome = match step.as_str() {
        "components" => components::build(),
        "tests" => test_tools::install(),
        "lint" => lint::install(),
        "-h" | "--help" | "help" => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown step {step:?}\n\n{HELP}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("setup: {reason}");
            ExitCode::FAILURE
        }
    }
}
