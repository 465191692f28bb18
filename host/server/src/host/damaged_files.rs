//! Files of the data folder that a start has set aside because they were damaged.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use bulkhead_os::files::DAMAGED;
use bulkhead_service::SECRETS_DIR;

use super::SLOTS;

/// How the checks of these files begin in the readiness report.
pub(super) const CHECK: &str = "data file ";

/// The damaged files that there were before a start.
pub(super) struct DamagedFiles {
    data: PathBuf,
    before: BTreeMap<PathBuf, u64>,
}

impl DamagedFiles {
    /// Lists the damaged files of earlier starts in the data folder.
    pub(super) fn before_start(data: &Path) -> Self {
        Self { data: data.to_owned(), before: damaged(data) }
    }

    /// Returns the check and the fault of each file that was set aside since.
    pub(super) fn since_start(&self) -> BTreeMap<String, String> {
        let mut faults = BTreeMap::new();
        for (aside, inode) in damaged(&self.data) {
            if self.before.get(&aside) == Some(&inode) {
                continue;
            }
            let aside = aside.strip_prefix(&self.data).unwrap_or(&aside).display().to_string();
            let name = aside.split(DAMAGED).next().unwrap_or_default();
            let reason = format!(
                "it was damaged when the host started, which goes on without it; {aside} is the damaged one"
            );
            faults.insert(format!("{CHECK}{name}"), reason);
        }
        faults
    }
}

/// Returns the damaged files with their inodes.
fn damaged(data: &Path) -> BTreeMap<PathBuf, u64> {
    let slots = fs::read_dir(data.join(SLOTS)).into_iter().flatten().flatten().map(|slot| slot.path());
    let folders = [data.to_owned(), data.join(SECRETS_DIR)].into_iter().chain(slots);
    let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let is_damaged = |name: &str| name.contains(DAMAGED);
    let damaged = files.filter(|file| file.file_name().to_str().is_some_and(is_damaged));
    damaged.filter_map(|file| Some((file.path(), file.metadata().ok()?.ino()))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_os::files::set_aside;

    use super::*;

    #[test]
    fn files_set_aside_since_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("slots/captcha")).unwrap();
        fs::create_dir(path("secrets")).unwrap();
        for name in ["a.sqlite", "b.sqlite", "slots/captcha/book.json", "secrets/host.key"] {
            fs::write(path(name), "x").unwrap();
        }
        set_aside(&path("b.sqlite")).unwrap();
        let before = DamagedFiles::before_start(folder.path());
        assert!(before.since_start().is_empty());
        for name in ["a.sqlite", "slots/captcha/book.json", "secrets/host.key"] {
            set_aside(&path(name)).unwrap();
        }
        fs::write(path("a.sqlite.damaged-wal"), "x").unwrap();
        let checks: Vec<String> = before.since_start().into_keys().collect();
        assert_eq!(
            checks,
            ["a.sqlite", "secrets/host.key", "slots/captcha/book.json"].map(|name| format!("{CHECK}{name}"))
        );
        fs::write(path("b.sqlite"), "y").unwrap();
        set_aside(&path("b.sqlite")).unwrap();
        assert_eq!(before.since_start().len(), 4, "the same file once more");
    }
}
