//! Runs other programs: silent on success, with their output in the error on failure.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The result of a step; the error is the text to print.
pub type Outcome<T = ()> = Result<T, String>;

/// Returns the command of a program that is looked up in `PATH`.
pub fn program<S: AsRef<OsStr>>(name: &str, args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(name);
    command.args(args);
    command
}

/// Returns a `cargo` command without the variables of the cargo that runs this program: its build settings, compiler
/// and library path would otherwise leak into the inner build.
pub fn cargo<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = program("cargo", args);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(steers_a_build) {
            command.env_remove(name);
        }
    }
    command
}

/// Returns whether a variable changes what a build produces; settings of registries, network and terminal stay as the
/// user set them.
fn steers_a_build(name: &str) -> bool {
    const KEPT: [&str; 7] = [
        "CARGO_HOME",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
        "CARGO_BUILD_JOBS",
    ];
    const DROPPED: [&str; 6] = ["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOC", "LD_LIBRARY_PATH", "DYLD_"];
    let starts_with = |prefix: &&str| name.starts_with(*prefix);
    DROPPED.iter().any(starts_with) && !KEPT.iter().any(starts_with)
}

/// Runs to the end with its output on the terminal.
pub fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", shown(command))) }
}

/// Runs to the end and returns its standard output; on failure the error is all it printed.
pub fn capture(command: &mut Command) -> Outcome<String> {
    let Output { status, stdout, stderr } = command.output().map_err(|error| not_started(command, &error))?;
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&stderr);
    Err(format!("{stdout}{stderr}\n{} failed: {status}", shown(command)))
}

/// Returns whether the program starts and succeeds.
pub fn succeeds(command: &mut Command) -> bool {
    capture(command).is_ok()
}

/// Returns the path of the program of this name in `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("cannot run {}: {error}", shown(command))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_build_settings_are_dropped() {
        for name in ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_TARGET_DIR", "CARGO_ENCODED_RUSTFLAGS"] {
            assert!(steers_a_build(name), "{name}");
        }
        for name in ["RUSTC_WRAPPER", "RUSTFLAGS", "RUSTDOCFLAGS", "LD_LIBRARY_PATH"] {
            assert!(steers_a_build(name), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_HTTP_CAINFO", "CARGO_REGISTRIES_X_TOKEN", "PATH"] {
            assert!(!steers_a_build(name), "{name}");
        }
        assert!(!steers_a_build("RUSTUP_TOOLCHAIN"));
    }

    #[test]
    fn failure_contains_output_and_command() {
        let failure = capture(&mut program("sh", ["-c", "echo lost; exit 3"]));
        let text = failure.unwrap_err();
        assert!(text.starts_with("lost\n") && text.contains("`sh -c"), "{text}");
    }
}
