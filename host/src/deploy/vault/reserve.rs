//! A file that takes up room on the data disk, and gives it up for a rollback that finds the disk full.

use std::{fs, io, path::Path};

use rustix::fs::statvfs;

use crate::files;

/// Its size, bytes: more than a slot's state and the lines of its moves take.
const BYTES: usize = 512 << 10;
/// It is made only where so many times its size is free, so that making it takes room from nobody.
const ROOM: u64 = 8;

/// Whether an error says that the disk is full.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Makes the reserve where it is missing and the disk has room for it.
///
/// # Errors
/// Why there is none.
pub(super) fn make(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let disk = statvfs(path.parent().unwrap_or(path))?;
    if disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM * BYTES as u64 {
        return Err(io::ErrorKind::StorageFull.into());
    }
    // A file system that compresses would keep no room for zeros.
    let mut bytes = vec![0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    files::replace(path, &[&bytes])
}

/// Gives the reserve up; false where there is none.
pub(super) fn give_up(path: &Path) -> bool {
    fs::remove_file(path).is_ok()
}
