//! Prepares a machine to build and test Bulkhead. Each step prints one line, and does nothing if its work is done.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arm;
mod command;
mod edge;
mod files;
mod fuzz;
mod guests;
mod install;
mod lint;
mod package;
mod paths;
mod toolchain;

use std::process::ExitCode;

use guests::{components, examples};
use install::test_tools;

const HELP: &str = "\
Prepares a machine to build and test Bulkhead.

Usage: setup <STEP> [ARGUMENTS]

Steps:
  components  find or build std for WebAssembly, then build every component into target/components
  crates      build Rust crates outside of the workspace into components in their folders, without network: FOLDER...
  tests       install what the test suite drives: Chromium, PostgreSQL, npm and Python packages; then build the
              examples in other languages into target/examples and the apps of tests/apps into target/test-apps
  lint        install what `just lint` runs
  fuzz        run the fuzz targets of tests/fuzz: [TARGET|all] [SECONDS]
  edge        build the binary for the edge: target/edge/bulkhead
  package     build the packages in target/package: [edge] [archive|debian|image]... | [edge] --check |
              [edge] aarch64 [--check]
  arm         run the tests of the embedding engine on 64-bit ARM, emulated: [FILTER]...
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (step, rest) = arguments.split_first().map_or(("", &[][..]), |(step, rest)| (step.as_str(), rest));
    let outcome = match step {
        "components" => components::build(),
        "crates" => components::build_outside(rest),
        "tests" => test_tools::install()
            .and_then(|()| examples::build())
            .and_then(|()| components::build_test_apps()),
        "lint" => lint::install(),
        "fuzz" => fuzz::fuzz(rest),
        "arm" => arm::test(rest),
        "edge" => edge::build(),
        "package" => package::package(rest),
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
