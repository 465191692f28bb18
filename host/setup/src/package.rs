//! Runs `just package`: makes an archive, a Debian package and a container image of one build.

mod archive;
mod bill;
mod check;
mod crates;
mod debian;
mod image;
mod notices;
mod stage;

use std::path::PathBuf;
use std::process::Command;

use crate::command::{Outcome, capture, cargo, program, run};
use crate::rustc::Rustc;
use crate::target_std::ARM;
use crate::{arm, files, paths};

/// The version of the workspace, which is that of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const USAGE: &str =
    "Usage: just package [archive|debian|image]..., or just package aarch64, or just package --check";
/// Makes the archive for 64-bit ARM.
const AARCH64: &str = "aarch64";
/// Makes every package and checks it.
const CHECK: &str = "--check";

/// What is made of one build, in `target/package`.
struct Release {
    /// The target of the build, such as `x86_64-unknown-linux-gnu`.
    target: String,
    /// When the sources were committed, Unix seconds: the time of every packed file.
    time: String,
    binary: PathBuf,
    /// The files of all packages, laid out as below `/usr`.
    stage: PathBuf,
}

impl Release {
    /// Returns the folder that packages are written to.
    fn folder() -> PathBuf {
        paths::target().join("package")
    }

    /// Returns the command that runs the binary on this machine.
    fn command(&self) -> Command {
        match self.target == ARM.name && std::env::consts::ARCH != AARCH64 {
            true => arm::emulated(&self.binary),
            false => Command::new(&self.binary),
        }
    }

    /// Returns the name of the build in the names of files.
    fn name(&self) -> String {
        let machine = self.target.split('-').next().unwrap_or_default();
        format!("bulkhead-{VERSION}-{machine}-linux")
    }
}

/// Makes a package of a release, and returns its file.
type Maker = fn(&Release) -> Outcome<PathBuf>;

/// Builds the binary, lays out its files, and makes those packages that the arguments name, or all.
pub fn package(arguments: &[String]) -> Outcome {
    const PARTS: [(&str, Maker); 3] =
        [("archive", archive::make), ("debian", debian::make), ("image", image::make)];
    let (is_checked, named) = match arguments {
        [machine] if machine == AARCH64 => {
            let release = build_for_arm()?;
            stage::lay_out(&release)?;
            return write_sums(&[archive::make(&release)?]);
        }
        [option] if option == CHECK => (true, &[][..]),
        named => (false, named),
    };
    if let Some(unknown) = named.iter().find(|name| PARTS.iter().all(|(part, _)| part != name)) {
        return Err(format!("unknown package {unknown:?}\n{USAGE}"));
    }
    let release = build()?;
    stage::lay_out(&release)?;
    let mut made = Vec::new();
    for (part, make) in PARTS {
        if named.is_empty() || named.iter().any(|name| name == part) {
            made.push(make(&release)?);
        }
    }
    write_sums(&made)?;
    if is_checked { check::all(&release, &made) } else { Ok(()) }
}

/// Builds the binary for this machine.
fn build() -> Outcome<Release> {
    run(cargo_build().current_dir(paths::workspace()).env("CARGO_ENCODED_RUSTFLAGS", flags().join("\x1f")))?;
    release(Rustc::ask("rustc")?.host, paths::target().join("dist/bulkhead"))
}

/// Builds the binary for 64-bit ARM, with the libraries of the cross compiler.
fn build_for_arm() -> Outcome<Release> {
    let compiler = arm::prepare()?;
    let mut command = cargo_build();
    arm::cross(&mut command, &compiler, flags());
    run(&mut command)?;
    release(ARM.name.to_owned(), arm::folder().join(ARM.name).join("dist/bulkhead"))
}

/// Returns the command that builds the binary in the profile `dist`.
fn cargo_build() -> Command {
    println!("package: building in the profile dist, which takes longer than a release");
    cargo(["build", "--profile", "dist", "--locked", "-p", "bulkhead", "--bin", "bulkhead"])
}

/// Returns the flags of the compiler that keep paths of this machine out of the binary.
fn flags() -> Vec<String> {
    let mut flags = vec![format!("--remap-path-prefix={}=/bulkhead", paths::workspace().display())];
    if let Some(home) = paths::cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    flags
}

fn release(target: String, binary: PathBuf) -> Outcome<Release> {
    let time = capture(program("git", ["log", "-1", "--format=%ct"]).current_dir(paths::workspace()))?;
    Ok(Release { target, time: time.trim().to_owned(), binary, stage: Release::folder().join("stage") })
}

/// Writes `SHA256SUMS` of the packages next to them.
fn write_sums(made: &[PathBuf]) -> Outcome {
    let folder = Release::folder();
    let names = made.iter().filter_map(|path| path.file_name());
    let sums = capture(program("sha256sum", names).current_dir(&folder))?;
    files::write(&folder.join("SHA256SUMS"), sums.as_bytes())?;
    println!("package: in {}\n{}", folder.display(), sums.trim_end());
    Ok(())
}
