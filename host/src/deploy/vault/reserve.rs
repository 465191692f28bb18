//! A file that takes up room on the data disk, and gives it up for a rollback that finds the disk full. Until it is there
//! again its room stays free for the next rollback: changes that can be refused are, rather than take it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::fs::statvfs;

use super::{Blob, Vault, VaultError};
use crate::files;

/// Its size, bytes: more than a slot's state and the lines of its moves take.
const BYTES: u64 = 512 << 10;
/// It is made only where so many times its size is free, so that making it takes room from nobody.
const ROOM: u64 = 8;

impl Vault {
    pub(super) fn reserve_path(&self) -> PathBuf {
        self.folder.join("reserve")
    }

    /// Makes the reserve where it is missing and the disk has room for it; whether it is there.
    pub fn make_reserve(&self) -> bool {
        let path = self.reserve_path();
        let made = if path.exists() { Ok(()) } else { make(&path, self.free()) };
        if let Err(error) = &made {
            tracing::debug!(%error, "the data folder has no reserve");
        }
        made.is_ok()
    }

    /// Refuses to write `components` and a book of so many bytes where they would take the room of a reserve that has been
    /// given up.
    pub(super) fn spare_reserve(&self, components: &[Blob], book: usize) -> Result<(), VaultError> {
        let path = self.reserve_path();
        let bytes = components.iter().fold(book, |sum, blob| sum.saturating_add(blob.wasm.len()));
        // Where the system does not say what is free, the write itself tells whether it was.
        let takes_it = self.free().is_some_and(|free| free < BYTES.saturating_add(bytes as u64));
        if takes_it && !path.exists() {
            return Err(VaultError::Io(path, io::ErrorKind::StorageFull.into()));
        }
        Ok(())
    }

    /// Bytes of the disk that are free, by a test's word where it has one.
    #[cfg(test)]
    fn free(&self) -> Option<u64> {
        self.fault.free().or_else(|| free(&self.folder))
    }

    #[cfg(not(test))]
    fn free(&self) -> Option<u64> {
        free(&self.folder)
    }
}

/// Whether an error says that the disk is full.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Bytes of the disk under a folder that are free; none where the system does not say.
fn free(folder: &Path) -> Option<u64> {
    let disk = statvfs(folder).ok()?;
    // Some file systems have no size.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Makes the reserve where the disk has room for it.
///
/// # Errors
/// Why there is none.
fn make(path: &Path, free: Option<u64>) -> io::Result<()> {
    if free.is_none_or(|free| free < ROOM * BYTES) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    // A file system that compresses would keep no room for zeros.
    let mut bytes = vec![0; usize::try_from(BYTES).unwrap_or(usize::MAX)];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    files::replace(path, &[&bytes])
}

/// Gives the reserve up; false where there is none.
pub(super) fn give_up(path: &Path) -> bool {
    fs::remove_file(path).is_ok()
}
