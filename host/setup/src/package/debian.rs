//! Makes the Debian package, which `host/Cargo.toml` describes.

use std::env;
use std::path::PathBuf;

use super::{Release, VERSION};
use crate::command::{Outcome, capture, cargo, program, run};
use crate::{cargo_tool, paths};

/// Makes packages of what cargo builds; pinned to the line that the description is for.
const CARGO_DEB: &str = "^3";
/// The variables with which Debian's tools name who maintains a package.
const MAINTAINER: [&str; 2] = ["DEBFULLNAME", "DEBEMAIL"];

/// Makes the package and returns its path.
pub(super) fn make(release: &Release) -> Outcome<PathBuf> {
    cargo_tool::install("deb", CARGO_DEB)?;
    let architecture = capture(&mut program("dpkg", ["--print-architecture"]))?;
    let name = format!("bulkhead_{VERSION}-1_{}.deb", architecture.trim());
    let path = Release::folder().join(name);
    let mut command =
        cargo(["deb", "--quiet", "-p", "bulkhead", "--profile", "dist", "--no-build", "--no-strip"]);
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
