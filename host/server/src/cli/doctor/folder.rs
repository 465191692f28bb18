//! The data folder and its disk: owner, mode, format, hosts that use it, room.

use std::{
    fs::{self, Metadata},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use bulkhead_os::{
    data_folder::{self, FORMAT, FolderFormat},
    files, ids,
};
use bulkhead_service::MachineFinding;
use rustix::{
    fs::{Access, access, statvfs},
    process::geteuid,
};

/// What a finding about the data folder is called.
const CHECK: &str = "data folder";
/// What a finding about the disk that holds it is called.
const DISK: &str = "disk";
/// The least room on the disk, bytes: databases grow, and a pushed component is kept with its compiled code.
const LEAST_ROOM: u64 = 256 << 20;
/// Bytes that are written to see whether they can be.
const PROBE: [u8; 4096] = [0; 4096];

/// Checks a data folder, which need not exist.
pub(super) fn examine(folder: &Path) -> Vec<MachineFinding> {
    let mut found = Vec::new();
    match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {
            found.extend([
                access_to(folder, &metadata),
                format_of(folder),
                users_of(folder),
                write_to(folder),
            ]);
        }
        Ok(_) => {
            let text = format!("{} is not a folder; set data_dir to one", folder.display());
            found.push(MachineFinding::failure(CHECK, text));
        }
        Err(_) => found.push(make(folder)),
    }
    found.extend(room(&existing(folder)));
    found
}

/// Returns the folder, or the nearest one above it that exists.
fn existing(folder: &Path) -> PathBuf {
    folder.ancestors().find(|above| above.exists()).unwrap_or(folder).to_owned()
}

/// Checks whether a missing folder can be made.
fn make(folder: &Path) -> MachineFinding {
    let above = existing(folder);
    let (folder, shown) = (folder.display(), above.display());
    if !above.is_dir() {
        let text =
            format!("{folder} cannot be made, because {shown} is not a folder; set data_dir to another one");
        return MachineFinding::failure(CHECK, text);
    }
    match access(&above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => MachineFinding::fine(CHECK, format!("{folder} is made by the first start")),
        Err(error) => MachineFinding::failure(
            CHECK,
            format!(
                "{folder} cannot be made in {shown}: {error}; make that writable, or set data_dir to another folder"
            ),
        ),
    }
}

/// Checks owner and mode.
fn access_to(folder: &Path, metadata: &Metadata) -> MachineFinding {
    let (folder, owner, user) = (folder.display(), metadata.uid(), geteuid().as_raw());
    let mode = metadata.permissions().mode() & 0o777;
    if owner != user && user != 0 {
        let text = format!(
            "{folder} belongs to user {owner}, and this command runs as user {user}; run both as the owner, or set data_dir to \
             another folder"
        );
        return MachineFinding::failure(CHECK, text);
    }
    if mode & 0o077 != 0 {
        let text = format!(
            "{folder} has mode {mode:o}, so that others have access; run chmod 700 on it, as the next start does"
        );
        return MachineFinding::warning(CHECK, text);
    }
    MachineFinding::fine(CHECK, format!("{folder} belongs to user {owner} alone, who must run the host"))
}

/// Checks the format.
fn format_of(folder: &Path) -> MachineFinding {
    match data_folder::check(folder) {
        Ok(FolderFormat::Named(FORMAT)) => {
            MachineFinding::fine(CHECK, format!("it has format {FORMAT}, that of this version"))
        }
        Ok(FolderFormat::Damaged) => MachineFinding::warning(
            CHECK,
            "the file that names its format is damaged; the next start of a host writes it again",
        ),
        Ok(FolderFormat::Named(_) | FolderFormat::Unnamed) => MachineFinding::fine(
            CHECK,
            format!(
                "it is new or has an older format; the next start upgrades it to format {FORMAT}, and keeps a copy of the slots \
                 that it has"
            ),
        ),
        Err(error) => MachineFinding::failure(CHECK, error.to_string()),
    }
}

/// Reports which hosts use it.
fn users_of(folder: &Path) -> MachineFinding {
    let users: Vec<String> = data_folder::users(folder).iter().map(u32::to_string).collect();
    let text = match users.as_slice() {
        [] => "no running host uses it".to_owned(),
        [one] => format!("the running host with process id {one} uses it"),
        several => format!("the running hosts with process ids {} use it", several.join(", ")),
    };
    MachineFinding::fine(CHECK, text)
}

/// Writes a file and removes it.
fn write_to(folder: &Path) -> MachineFinding {
    let probe = folder.join(format!("doctor-{}", ids::random_id()));
    match files::replace(&probe, &[&PROBE]).and_then(|()| fs::remove_file(&probe)) {
        Ok(()) => MachineFinding::fine(DISK, "the data folder can be written"),
        Err(error) => MachineFinding::failure(
            DISK,
            format!(
                "{} cannot be written: {error}; make it writable and check that its disk has room, or set data_dir to another \
                 folder",
                folder.display()
            ),
        ),
    }
}

/// Checks the room on the disk that holds a folder.
fn room(folder: &Path) -> Option<MachineFinding> {
    let disk = statvfs(folder).ok()?;
    // Some file systems count no files.
    let files = Some(disk.f_favail).filter(|_| disk.f_files > 0);
    Some(judge(folder, disk.f_bavail.saturating_mul(disk.f_frsize), files))
}

/// Judges the free bytes of a disk, and the number of files that it still takes.
fn judge(folder: &Path, bytes: u64, files: Option<u64>) -> MachineFinding {
    let (folder, free) = (folder.display(), bytes >> 20);
    if bytes < LEAST_ROOM {
        let text = format!(
            "{free} MiB are free on the disk of {folder}, less than {}; remove files, or set data_dir to a folder of another \
             disk",
            LEAST_ROOM >> 20
        );
        return MachineFinding::warning(DISK, text);
    }
    match files {
        Some(files) if files < 1_000 => MachineFinding::warning(
            DISK,
            format!("the disk of {folder} takes only {files} more files, whatever their size; remove some"),
        ),
        _ => MachineFinding::fine(DISK, format!("{free} MiB are free on the disk of {folder}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_service::Severity::{self, Failure, Fine, Warning};
    use tempfile::TempDir;

    use super::*;

    /// Returns the findings that are not fine.
    fn wrong(folder: &Path) -> Vec<(Severity, String)> {
        let found = examine(folder).into_iter().filter(|finding| finding.severity != Fine);
        // The room on the disk of tests is not theirs.
        found
            .filter(|finding| !finding.text.contains("the disk of"))
            .map(|one| (one.severity, one.text))
            .collect()
    }

    fn private() -> TempDir {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    #[test]
    fn private_or_missing_folder_is_fine() {
        let folder = private();
        for folder in [folder.path().to_owned(), folder.path().join("above/data")] {
            let wrong = wrong(&folder);
            assert!(wrong.is_empty(), "{wrong:?}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing stays");
    }

    #[test]
    fn each_fault_of_a_folder_is_named() {
        let set_mode =
            |folder: &Path| fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        let write_format = |folder: &Path, text: &str| fs::write(folder.join("format"), text).unwrap();
        let newer = format!("format {} of the data folder\n", FORMAT + 1);
        for (format, severity, named) in [
            (None, Warning, "chmod 700"),
            (Some("form"), Warning, "damaged"),
            (Some(newer.as_str()), Failure, "start the newer version"),
        ] {
            let folder = private();
            format.map_or_else(|| set_mode(folder.path()), |text| write_format(folder.path(), text));
            let wrong = wrong(folder.path());
            assert!(
                matches!(&wrong[..], [(one, text)] if *one == severity && text.contains(named)),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn file_in_place_of_folder_fails() {
        let folder = private();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for folder in [file.clone(), file.join("data")] {
            let wrong = wrong(&folder);
            assert!(matches!(&wrong[..], [(Failure, text)] if text.contains("is not a folder")), "{wrong:?}");
        }
    }

    #[test]
    fn small_room_is_a_warning() {
        let folder = Path::new("/data");
        for (bytes, files, severity) in [
            (LEAST_ROOM, None, Fine),
            (LEAST_ROOM, Some(1_000), Fine),
            (LEAST_ROOM - 1, None, Warning),
            (LEAST_ROOM, Some(999), Warning),
        ] {
            assert_eq!(judge(folder, bytes, files).severity, severity, "{bytes} {files:?}");
        }
    }
}
