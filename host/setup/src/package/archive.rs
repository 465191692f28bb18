//! Packs the staged files into a `tar.gz` whose bytes depend on the files alone.

use std::path::PathBuf;

use super::Release;
use crate::command::{Outcome, capture, program, run};
use crate::files;

/// Lists the digest of every file below the current folder, sorted.
const SUMS: &str = "find . -type f ! -name SHA256SUMS -print0 | LC_ALL=C sort -z | xargs -0 sha256sum";

/// Makes the archive and returns its path.
pub(super) fn make(release: &Release) -> Outcome<PathBuf> {
    let sums = capture(program("sh", ["-c", SUMS]).current_dir(&release.stage))?;
    files::write(&release.stage.join("SHA256SUMS"), sums.as_bytes())?;
    let name = release.name();
    let path = Release::folder().join(format!("{name}.tar.gz"));
    let mut tar = program("tar", ["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    run(tar
        .args(["--use-compress-program=gzip --best --no-name", "--mode=go-w"])
        .arg(format!("--mtime=@{}", release.time))
        .arg(format!("--transform=s,^\\.,{name},"))
        .arg("--file")
        .arg(&path)
        .arg("--directory")
        .arg(&release.stage)
        .arg("."))?;
    Ok(path)
}
