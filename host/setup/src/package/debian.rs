//! Makes the Debian package, which `host/Cargo.toml` describes.

use std::env;
use std::path::PathBuf;

use super::{FeatureSet, Release, VERSION};
use crate::command::{Outcome, capture, cargo, program, run};
use crate::install::{apt, cargo_tool};
use crate::paths;

/// What finds the packages of shared libraries; without it the package would depend on none of them.
const PACKAGES: [&str; 1] = ["dpkg-dev"];
/// Makes packages of what cargo builds; pinned to the line that the description is for.
const CARGO_DEB: &str = "^3";
/// The variables with which Debian's tools name who maintains a package.
const MAINTAINER: [&str; 2] = ["DEBFULLNAME", "DEBEMAIL"];

/// Makes the package and returns its path.
pub(super) fn make(release: &Release) -> Outcome<PathBuf> {
    if !apt::missing(&PACKAGES).is_empty() {
        apt::install("Debian package", &PACKAGES)?;
    }
    cargo_tool::install("deb", CARGO_DEB, &[])?;
    let architecture = capture(&mut program("dpkg", ["--print-architecture"]))?;
    let name = format!("{}_{VERSION}-1_{}.deb", release.features.name(), architecture.trim());
    let path = Release::folder().join(name);
    let mut command = cargo(["deb", "--quiet", "-p", "bulkhead", "--profile", release.features.profile()]);
    command.args(["--no-build", "--no-strip"]);
    if release.features == FeatureSet::Edge {
        command.args(["--variant", "edge"]);
    }
    if let [Ok(name), Ok(address)] = MAINTAINER.map(env::var) {
        command.arg("--maintainer").arg(format!("{name} <{address}>"));
    }
    run(command
        .arg("--output")
        .arg(&path)
        .current_dir(paths::workspace())
        // Packed files are as old as the sources, so that a build gives the same package again.
        .env("SOURCE_DATE_EPOCH", &release.time))?;
    Ok(path)
}
