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

use crate::command::{Outcome, capture, cargo, program, run};
use crate::rustc::Rustc;
use crate::{files, paths};

/// The version of the workspace, which is that of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const USAGE: &str = "Usage: just package [archive|debian|image]... or just package --check";
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

    /// Returns the name of the build in the names of files.
    fn name(&self) -> String {
        let machine = self.target.split('-').next().unwrap_or_default();
        format!("bulkhead-{VERSION}-{machine}-linux")
    }
}

/// Makes a package of a release, and returns its file.
type Maker = fn(&Release) -> Outcome<PathBuf>;

/// Builds the binary, lays out its files, and makes those packages that the arguments name, or all; `--check` checks all.
pub fn package(arguments: &[String]) -> Outcome {
    const PARTS: [(&str, Maker); 3] =
        [("archive", archive::make), ("debian", debian::make), ("image", image::make)];
    let (is_checked, named) = match arguments {
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

/// Builds the binary in the profile `dist`, without paths of this machine.
fn build() -> Outcome<Release> {
    let workspace = paths::workspace();
    let mut flags = vec![format!("--remap-path-prefix={}=/bulkhead", workspace.display())];
    if let Some(home) = paths::cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    println!("package: building in the profile dist, which takes longer than a release");
    run(cargo(["build", "--profile", "dist", "--locked", "-p", "bulkhead", "--bin", "bulkhead"])
        .current_dir(&workspace)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")))?;
    let time = capture(program("git", ["log", "-1", "--format=%ct"]).current_dir(&workspace))?;
    let folder = Release::folder();
    Ok(Release {
        target: Rustc::ask("rustc")?.host,
        time: time.trim().to_owned(),
        binary: paths::target().join("dist/bulkhead"),
        stage: folder.join("stage"),
    })
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
