//! Reads plain files without waiting for pipes, creates files that one user reads, and writes files completely or not at
//! all, even after a crash of the process or the machine.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, fchown},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, OFlags, StatVfsMountFlags, flock, statvfs};

/// Largest file of settings, such as secrets and keys, bytes.
const SETTINGS_BYTES: usize = 64 << 20;
/// A disk with less free space than this is full, bytes: a database needs a few pages for each write.
const FULL_BYTES: u64 = 64 << 10;

/// Creates a missing data folder, which only this user can read.
///
/// # Errors
/// The operating system's error, with the folder and the key that names it.
pub fn make_data_folder(path: &Path) -> io::Result<()> {
    let make = || {
        // The folders above do not belong to the host.
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(_) if path.is_dir() => Ok(()),
            made => made,
        }
    };
    make().map_err(|error| {
        let text = "as data folder; set data_dir to a writable one";
        io::Error::new(error.kind(), format!("cannot use {} {text}: {error}", path.display()))
    })
}

/// Creates a missing file, which only this user can read, and the folders above it.
///
/// # Errors
/// The operating system's error, also where this user may not write to the existing file.
pub fn create(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::options().append(true).create(true).mode(0o600).open(path).map(drop)
}

/// Opens a plain file for reading. Never waits for a pipe.
///
/// # Errors
/// When it cannot be opened, or is not a plain file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::empty())
}

fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    refuse_special(&fs::metadata(path)?)?;
    let flags = (flags | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    // It may have been replaced meanwhile.
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// Reads a plain file of at most `cap` bytes. Never waits for a pipe.
///
/// # Errors
/// When it cannot be read, is not a plain file, or has more bytes: [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, cap: usize) -> io::Result<Vec<u8>> {
    read_with(path, cap, OFlags::empty())
}

/// Reads as [`read`] does, with more flags for opening.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: &Path, cap: usize, flags: OFlags) -> io::Result<Vec<u8>> {
    let file = open_with(path, flags)?;
    let mut bytes = Vec::new();
    file.take((cap as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > cap {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {cap} bytes")));
    }
    Ok(bytes)
}

fn refuse_special(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a folder, a pipe or a device; put a plain file there",
        )),
    }
}

/// Reads a plain file of settings.
///
/// # Errors
/// As [`read`].
pub fn read_settings(path: &Path) -> io::Result<Vec<u8>> {
    read(path, SETTINGS_BYTES)
}

/// Reads a plain file of settings that is text.
///
/// # Errors
/// As [`read`], and when it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_settings(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Writes `parts` to a temporary file next to `path` and renames it: readers, also after a crash, see the old file or
/// the complete new one. Only this user can read it.
///
/// # Errors
/// The operating system's error; the old file then still exists.
pub fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    replace_with(path, parts, |_| Ok(()))
}

/// Writes as [`replace`] does, to the plain file that a link leads to, and keeps the existing file's mode, and its
/// owner where this user may.
///
/// # Errors
/// As [`replace`], and when no plain file is there.
pub fn rewrite(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let old = fs::metadata(&path)?;
    refuse_special(&old)?;
    replace_with(&path, &[text.as_bytes()], |file| {
        // Changing the owner may need more rights.
        let _ = fchown(&*file, Some(old.uid()), Some(old.gid()));
        file.set_permissions(old.permissions())
    })
}

/// Returns the path of the plain file that a command is to write, which a link may lead to, for [`replace`]: a rename would
/// put a file in the place of a device, such as `/dev/stdout`.
///
/// # Errors
/// When something else is there.
pub fn output_path(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(metadata) => {
            refuse_special(&metadata)?;
            fs::canonicalize(path)
        }
        // A name without a folder is in the current folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Path::new(".").join(path)),
        Err(error) => Err(error),
    }
}

/// Locks the folder of the plain file that `path` leads to, until the result is dropped. Waits for other callers of this
/// function; nothing else heeds the lock. `None` where the folder cannot be opened or its file system has no locks.
#[must_use]
pub fn lock_folder_of(path: &Path) -> Option<File> {
    let folder = File::open(fs::canonicalize(path).ok()?.parent()?).ok()?;
    flock(&folder, FlockOperation::LockExclusive).ok()?;
    Some(folder)
}

fn replace_with(
    path: &Path,
    parts: &[&[u8]],
    prepare: impl Fn(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", uuid::Uuid::new_v4()));
    let write = |file: &mut File| {
        prepare(file)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()
    };
    let written = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| write(&mut file))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    // A rename is durable once the folder is synchronized.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Returns whether an operation failed because its disk takes nothing: it is read-only, full, or full for this user.
pub fn is_disk_fault(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

/// Returns whether the disk of `path`, which must exist, is mounted read-only.
pub fn is_read_only(path: &Path) -> bool {
    statvfs(path).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Returns why nothing can be written to the disk of `path`, in words that follow "the disk": it is read-only or full.
/// `None` if neither is known.
pub fn disk_fault(path: &Path) -> Option<&'static str> {
    if is_read_only(path) {
        return Some("is read-only");
    }
    free_bytes(path).filter(|free| *free < FULL_BYTES).map(|_| "is full")
}

/// Returns the free bytes of the disk of `path`; `None` if the system does not report them.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let disk = statvfs(path).ok()?;
    // Some file systems have no size.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn file_is_replaced_without_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        for text in ["first", "second, longer"] {
            replace(&path, &[text.as_bytes(), b"\n"]).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{text}\n"));
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn created_file_keeps_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("above/file");
        create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "text").unwrap();
        create(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        assert!(create(folder.path()).is_err());
    }

    #[test]
    fn data_folder_is_for_its_user_only() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = folder.path().join("above/data");
        make_data_folder(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        make_data_folder(&path).unwrap();
        assert_eq!(mode(&path), 0o750, "one that is there stays as it is");
        fs::write(folder.path().join("file"), "").unwrap();
        let refused = make_data_folder(&folder.path().join("file")).unwrap_err().to_string();
        assert!(refused.contains("file as data folder; set data_dir to a writable one: "), "{refused}");
    }

    #[test]
    fn rewritten_file_keeps_mode_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.toml", &link).unwrap();
        rewrite(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(rewrite(&folder.path().join("none"), "x").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn folder_is_locked_until_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("file"), tempfile::tempdir().unwrap());
        let link = elsewhere.path().join("link");
        fs::write(&path, "").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let other = File::open(folder.path()).unwrap();
        let is_locked = || {
            let taken = flock(&other, FlockOperation::NonBlockingLockExclusive);
            let _ = flock(&other, FlockOperation::Unlock);
            taken.is_err()
        };
        for path in [&path, &link] {
            let lock = lock_folder_of(path).unwrap();
            assert!(is_locked(), "{}", path.display());
            drop(lock);
            assert!(!is_locked(), "{}", path.display());
        }
        assert!(lock_folder_of(&folder.path().join("none")).is_none());
    }

    #[test]
    fn only_plain_files_are_read_and_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pipe) = (folder.path().join("plain"), folder.path().join("pipe"));
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // No process writes to it, so opening it would never return.
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        for special in [&pipe, &folder.path().join("socket"), folder.path(), Path::new("/dev/zero")] {
            let refusal = open(special).unwrap_err().to_string();
            assert!(refusal.contains("put a plain file there"), "{}: {refusal}", special.display());
            let refusal = read_text(special).unwrap_err().to_string();
            assert!(refusal.contains("put a plain file there"), "{}: {refusal}", special.display());
            let refusal = rewrite(special, "x").unwrap_err().to_string();
            assert!(refusal.contains("put a plain file there"), "{}: {refusal}", special.display());
            assert!(!fs::metadata(special).unwrap().is_file(), "{}", special.display());
        }
    }

    #[test]
    fn output_leads_to_a_plain_file() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let (path, link) = (folder.join("plain"), folder.join("link"));
        assert_eq!(output_path(&path).unwrap(), path);
        assert_eq!(output_path(Path::new("new-file")).unwrap(), Path::new("./new-file"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink("plain", &link).unwrap();
        for named in [&path, &link] {
            assert_eq!(output_path(named).unwrap(), path);
        }
        for special in [folder.as_path(), Path::new("/dev/full")] {
            let refusal = output_path(special).unwrap_err().to_string();
            assert!(refusal.contains("put a plain file there"), "{refusal}");
        }
    }

    #[test]
    fn writable_disk_has_no_fault() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!((disk_fault(folder.path()), is_read_only(folder.path())), (None, false));
        assert_eq!(disk_fault(&folder.path().join("none")), None);
        assert!(free_bytes(folder.path()).is_some_and(|free| free >= FULL_BYTES));
        assert_eq!(free_bytes(&folder.path().join("none")), None);
    }

    #[test]
    fn failure_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        replace(&folder.path().join("none/state.json"), &[b"x"]).unwrap_err();
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        replace(&taken, &[b"x"]).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
    }
}
