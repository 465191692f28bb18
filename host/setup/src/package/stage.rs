//! Lays out the files that packages hold, as they stand below `/usr` and in `/etc`.

use std::path::{Path, PathBuf};

use super::{Release, bill, notices};
use crate::command::{Outcome, capture, program};
use crate::{files, paths};

/// Files and folders of the repository, and where they go.
const COPIED: [(&str, &str); 8] = [
    ("host/deploy/bulkhead.toml", "etc/bulkhead/bulkhead.toml"),
    ("host/deploy/systemd/bulkhead.service", "lib/systemd/system/bulkhead.service"),
    ("host/deploy/grafana", "share/bulkhead/grafana"),
    ("host/deploy/prometheus", "share/bulkhead/prometheus"),
    ("host/deploy/README.md", "share/doc/bulkhead/README.md"),
    ("CHANGELOG.md", "share/doc/bulkhead/CHANGELOG.md"),
    ("SECURITY.md", "share/doc/bulkhead/SECURITY.md"),
    ("LICENSE", "share/doc/bulkhead/LICENSE"),
];

/// Shells, and the file in which each looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/bulkhead"),
    ("fish", "share/fish/vendor_completions.d/bulkhead.fish"),
    ("zsh", "share/zsh/vendor-completions/_bulkhead"),
];

/// Empties the stage and fills it.
pub(super) fn lay_out(release: &Release) -> Outcome {
    let stage = &release.stage;
    files::remove_folder(stage)?;
    install(&release.binary, &stage.join("bin/bulkhead"), "755")?;
    for (from, to) in COPIED {
        copy(&paths::workspace().join(from), &stage.join(to))?;
    }
    for (shell, to) in COMPLETIONS {
        let script = capture(release.command().args(["completions", shell]))?;
        files::write(&stage.join(to), script.as_bytes())?;
    }
    let pages = stage.join("share/man/man1");
    files::create_folder(&pages)?;
    capture(release.command().arg("man").arg(&pages))?;
    let documents = stage.join("share/doc/bulkhead");
    files::write(&documents.join("NOTICES.txt"), notices::write(release)?.as_bytes())?;
    let library = notices::of_library()?;
    copy(&library, &in_folder(&documents.join("rust"), &library))?;
    files::write(&documents.join("bulkhead.cdx.json"), bill::write(release)?.as_bytes())
}

/// Copies a file, or the files of a folder.
pub(super) fn copy(from: &Path, to: &Path) -> Outcome {
    if !from.is_dir() {
        return install(from, to, "644");
    }
    let copied = files::entries(from);
    copied.iter().try_for_each(|file| install(file, &in_folder(to, file), "644"))
}

/// Returns the path of a file in another folder.
fn in_folder(folder: &Path, file: &Path) -> PathBuf {
    folder.join(file.file_name().unwrap_or_default())
}

/// Copies a file with the folders above it, and sets its mode.
pub(super) fn install(from: &Path, to: &Path, mode: &str) -> Outcome {
    capture(program("install", ["-D", "-m", mode]).arg(from).arg(to)).map(drop)
}
