//! Atomic writes of files.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file under a temporary name in the same folder, syncs it and renames it, so that a reader finds all of it
/// or what was there before. Creates the folder if need be. `fill` may read back what it wrote.
///
/// # Errors
///
/// What `fill` returns, and faults of the file system; nothing is left behind then.
pub fn write<T, E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    write_as(OpenOptions::new(), path, fill)
}

/// Writes a file that only this process's user may read and write.
///
/// # Errors
///
/// As [`write`].
pub(crate) fn write_private<T, E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write_as(options, path, fill)
}

fn write_as<T, E: From<io::Error>>(
    mut options: OpenOptions,
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let mut name =
        path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?.to_owned();
    name.push(format!(".{}-{number}.part", std::process::id()));
    let part = folder.join(name);
    // A killed process may have had this id before: its file is unused.
    let _ = fs::remove_file(&part);
    let written =
        options.read(true).write(true).create_new(true).open(&part).map_err(E::from).and_then(|mut file| {
            let filled = fill(&mut file)?;
            file.sync_all()?;
            fs::rename(&part, path)?;
            Ok(filled)
        });
    match &written {
        // The rename lasts once the folder is on disk; some file systems cannot sync a folder.
        Ok(_) => drop(File::open(folder).and_then(|folder| folder.sync_all())),
        Err(_) => drop(fs::remove_file(&part)),
    }
    written
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_private_file_has_mode_0600() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, |file| file.write_all(b"one")).unwrap();
        write_private(&path, |file| file.write_all(b"two")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn failed_write_keeps_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("file");
        write(&path, |file| file.write_all(b"one")).unwrap();
        write(&path, |file| file.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let failed = write(&path, |file| {
            file.write_all(b"thr")?;
            Err::<(), _>(io::Error::other("disk full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "disk full");
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no part is left");
    }
}
