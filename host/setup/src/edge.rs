//! Builds the binary for the edge: captcha, status, apps and operators, without a compiler. A full binary compiles its
//! components to packs.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{Outcome, cargo, program, run};
use crate::{files, paths};

/// The profile of its build, and the folder below `target` that the binary is in.
pub const PROFILE: &str = "edge";
/// What chooses its features.
pub const FEATURES: [&str; 1] = ["--no-default-features"];
/// The components of its services.
pub const COMPONENTS: [&str; 2] = ["captcha", "status"];
/// The variable that names the folder of packs to the build.
const PACKS: &str = "BULKHEAD_PACKS";

/// Builds the binary for this machine, as `just edge` does.
pub fn build() -> Outcome {
    let mut command = cargo(["build", "--profile", PROFILE, "--locked", "-p", "bulkhead"]);
    prepare(&mut command, None)?;
    run(command.current_dir(paths::workspace()))
}

/// Builds the full binary for this machine, which compiles components to packs, and returns its path.
pub fn compiler() -> Outcome<PathBuf> {
    run(cargo(["build", "--release", "--locked", "-p", "bulkhead"]).current_dir(paths::workspace()))?;
    Ok(paths::target().join("release/bulkhead"))
}

/// Compiles the components for a target, or else for this machine, and has a command of cargo build the binary with them.
pub fn prepare(command: &mut Command, target: Option<&str>) -> Outcome {
    let compiler = compiler()?;
    let packs = paths::target().join("packs").join(target.unwrap_or("native"));
    files::create_folder(&packs)?;
    for name in COMPONENTS {
        let wasm = paths::target().join("components").join(name).with_extension("wasm");
        let mut compile = program(&compiler.to_string_lossy(), ["component", "compile"]);
        compile.arg(wasm).args(target.into_iter().flat_map(|target| ["--target", target]));
        run(compile.arg("--output").arg(packs.join(name).with_extension("cwasm")))?;
    }
    command.args(FEATURES).env(PACKS, packs);
    Ok(())
}
