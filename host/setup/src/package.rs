//! Runs `just package`: makes an archive, a Debian package and a container image of one build, that of all features or that for
//! the edge.

mod archive;
mod bill;
mod check;
mod crates;
mod debian;
mod image;
mod notices;
mod smoke;
mod stage;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Outcome, capture, cargo, program, run};
use crate::toolchain::rustc::Rustc;
use crate::toolchain::target_std::ARM;
use crate::{arm, edge, files, guests::components, paths};

/// The version of the workspace, which is that of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const USAGE: &str = "\
Usage: just package [edge] [archive|debian|image]..., or just package [edge] --check,
or just package [edge] aarch64 [--check]";
/// Packs the binary for the edge.
const EDGE: &str = "edge";
/// Makes the archive for 64-bit ARM.
const AARCH64: &str = "aarch64";
/// The components in the full binary.
const COMPONENTS: [&str; 4] = ["answer", "captcha", "status", "triage"];
/// Makes every package and checks it.
const CHECK: &str = "--check";

/// The features of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeatureSet {
    Full,
    Edge,
}

impl FeatureSet {
    /// Returns the arguments of cargo that choose it.
    const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Full => &[],
            Self::Edge => &edge::FEATURES,
        }
    }

    /// Returns the profile of the build, and the folder below that of the target which the binary is in.
    const fn profile(self) -> &'static str {
        match self {
            Self::Full => "dist",
            Self::Edge => edge::PROFILE,
        }
    }

    /// Returns the name of its packages.
    const fn name(self) -> &'static str {
        match self {
            Self::Full => "bulkhead",
            Self::Edge => "bulkhead-edge",
        }
    }
}

/// What is made of one build, in `target/package`.
struct Release {
    features: FeatureSet,
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
        format!("{}-{VERSION}-{machine}-linux", self.features.name())
    }

    /// Returns the folder and the package of each component in the binary.
    fn components(&self) -> Outcome<Vec<(String, String)>> {
        let all = components::folders()?.into_iter().zip(components::packages()?);
        let contained: &[&str] = match self.features {
            FeatureSet::Full => &COMPONENTS,
            FeatureSet::Edge => &edge::COMPONENTS,
        };
        Ok(all.filter(|(folder, _)| contained.contains(&folder.as_str())).collect())
    }
}

/// Makes a package of a release, and returns its file.
type Maker = fn(&Release) -> Outcome<PathBuf>;

/// Builds the binary, lays out its files, and makes those packages that the arguments name, or all.
pub fn package(arguments: &[String]) -> Outcome {
    const PARTS: [(&str, Maker); 3] =
        [("archive", archive::make), ("debian", debian::make), ("image", image::make)];
    let (features, arguments) = match arguments {
        [set, rest @ ..] if set == EDGE => (FeatureSet::Edge, rest),
        all => (FeatureSet::Full, all),
    };
    let (is_checked, named) = match arguments {
        [named @ .., option] if option == CHECK => (true, named),
        named => (false, named),
    };
    if named.iter().eq([AARCH64]) {
        let release = build_for_arm(features)?;
        stage::lay_out(&release)?;
        write_sums(&[archive::make(&release)?])?;
        return if is_checked { smoke::test(&release) } else { Ok(()) };
    }
    if is_checked && !named.is_empty() {
        return Err(format!("all packages are checked at once\n{USAGE}"));
    }
    if let Some(unknown) = named.iter().find(|name| PARTS.iter().all(|(part, _)| part != name)) {
        return Err(format!("unknown package {unknown:?}\n{USAGE}"));
    }
    let release = build(features)?;
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
fn build(features: FeatureSet) -> Outcome<Release> {
    let mut command = cargo_build(features);
    if features == FeatureSet::Edge {
        edge::prepare(&mut command, None)?;
    }
    command.current_dir(paths::workspace()).env("CARGO_ENCODED_RUSTFLAGS", flags().join("\x1f"));
    run(command.arg("--").args(linking()?))?;
    release(features, Rustc::ask("rustc")?.host, &paths::target())
}

/// Builds the binary for 64-bit ARM, with the libraries of the cross compiler.
fn build_for_arm(features: FeatureSet) -> Outcome<Release> {
    let compiler = arm::prepare()?;
    let mut command = cargo_build(features);
    if features == FeatureSet::Edge {
        edge::prepare(&mut command, Some(ARM.name))?;
    }
    arm::cross(&mut command, &compiler, flags());
    run(command.arg("--").args(linking()?))?;
    release(features, ARM.name.to_owned(), &arm::folder().join(ARM.name))
}

/// Returns the command that builds the binary, without what links it.
fn cargo_build(features: FeatureSet) -> Command {
    let profile = features.profile();
    println!("package: building in the profile {profile}, which takes longer than a release");
    cargo(["rustc", "--profile", profile, "--locked", "-p", "bulkhead", "--bin", "bulkhead"])
}

/// Returns the flags of the compiler that keep paths of this machine out of the binary.
fn flags() -> Vec<String> {
    let mut flags = vec![format!("--remap-path-prefix={}=/bulkhead", paths::workspace().display())];
    if let Some(home) = paths::cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    flags
}

/// Returns the flags with which the binary is linked. Each crate has its own copy of generic code: the toolchain's linker keeps
/// one of equal functions. It packs relocations, too, which the C library reads since 2.36; `depends` in host/Cargo.toml says so.
fn linking() -> Outcome<Vec<String>> {
    let linkers = components::linkers(&Rustc::ask("rustc")?)?.join("gcc-ld");
    let mut flags = vec![format!("-Clink-arg=-B{}", linkers.display())];
    for flag in ["-fuse-ld=lld", "-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"] {
        flags.push(format!("-Clink-arg={flag}"));
    }
    Ok(flags)
}

/// Returns the release whose binary lies below `folder`, where cargo writes what it builds for the target.
fn release(features: FeatureSet, target: String, folder: &Path) -> Outcome<Release> {
    let time = capture(program("git", ["log", "-1", "--format=%ct"]).current_dir(paths::workspace()))?;
    let (time, stage) = (time.trim().to_owned(), Release::folder().join("stage"));
    let binary = folder.join(features.profile()).join("bulkhead");
    Ok(Release { features, target, time, binary, stage })
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
