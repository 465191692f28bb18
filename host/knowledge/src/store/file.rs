//! The database file: its identity, its lock and its creation.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::error::Error;

/// The interval between attempts to lock.
const LOOK: Duration = Duration::from_millis(10);

/// The identity of a file. A number may be reused once its file is gone, but not at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    number: u64,
    made: Option<SystemTime>,
}

impl FileIdentity {
    /// Identifies the file at `path`; `None` if it does not exist.
    pub(super) fn of(path: &Path) -> Result<Option<Self>, Error> {
        match fs::metadata(path) {
            Ok(file) if file.is_file() => {
                Ok(Some(Self { device: file.dev(), number: file.ino(), made: file.created().ok() }))
            }
            Ok(_) => Ok(None),
            Err(fault) if matches!(fault.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(fault) => Err(Error::Read(path.to_path_buf(), fault)),
        }
    }
}

/// Locks the folder of `path` while a base is created there: of two processes that create the same one, the second
/// would take the first one's log for an old one, or be refused while SQLite gives the file a log. Without a lock,
/// where the folder cannot be locked within `patience`, creation continues and usually succeeds.
pub(super) async fn lock_folder(path: &Path, patience: Duration) -> Option<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (folder, began) = (File::open(folder).ok()?, Instant::now());
    loop {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => tokio::time::sleep(LOOK).await,
            Err(_) => return None,
        }
    }
}

/// Creates the missing folder of `path`, for this user only, as a host creates its data folder.
pub(super) fn make_folder(path: &Path) -> Result<(), Error> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|fault| Error::CannotCreate(path.to_path_buf(), fault))
        }
        None => Ok(()),
    }
}

/// Creates the file, empty, if it does not exist. Log and index next to it then belong to a file that was moved away:
/// SQLite would take them for those of the new one, so they are removed.
pub(super) fn make(path: &Path) -> Result<(), Error> {
    match File::create_new(path) {
        Ok(_) => {}
        Err(fault) if fault.kind() == ErrorKind::AlreadyExists => return Ok(()),
        Err(fault) => return Err(Error::CannotCreate(path.to_path_buf(), fault)),
    }
    for suffix in ["-wal", "-shm"] {
        let mut leftover = path.as_os_str().to_owned();
        leftover.push(suffix);
        // Usually it does not exist.
        let _ = fs::remove_file(PathBuf::from(leftover));
    }
    Ok(())
}
