//! The reserve: a file that occupies space on the data disk and is deleted when a rollback finds the disk full.
//! Until it exists again, changes that would take its space are rejected, so that the next rollback can be written.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use bulkhead_os::files;

use super::{LocalStore, LocalStoreError};

/// Its size, bytes: more than a slot's state and its audit lines need.
const BYTES: u64 = 512 << 10;
/// The reserve is created only if this multiple of its size is free, so that it takes space from nothing else.
const ROOM: u64 = 8;

impl LocalStore {
    pub(super) fn reserve_path(&self) -> PathBuf {
        self.folder.join("reserve")
    }

    /// Creates the reserve if it is missing and the disk has room; returns whether it exists.
    pub fn ensure_reserve(&self) -> bool {
        let path = self.reserve_path();
        let made = if is_whole(&path) { Ok(()) } else { create(&path, self.free()) };
        if let Err(error) = &made {
            tracing::debug!(%error, "the data folder has no reserve");
        }
        made.is_ok()
    }

    /// Rejects a write of so many bytes if it would take the space of a missing reserve.
    pub(super) fn check_reserve(&self, bytes: usize) -> Result<(), LocalStoreError> {
        let path = self.reserve_path();
        // If the system does not report free space, the write itself shows whether there was enough.
        let takes_it = self.free().is_some_and(|free| free < BYTES.saturating_add(bytes as u64));
        if takes_it && !is_whole(&path) {
            return Err(LocalStoreError::Io(path, io::ErrorKind::StorageFull.into()));
        }
        Ok(())
    }

    /// Returns the free bytes of the disk, or the number that a test has set.
    #[cfg(test)]
    fn free(&self) -> Option<u64> {
        self.fault.free().or_else(|| files::free_bytes(&self.folder))
    }

    #[cfg(not(test))]
    fn free(&self) -> Option<u64> {
        files::free_bytes(&self.folder)
    }
}

/// Returns whether the reserve occupies its space: a power cut may have cut it.
fn is_whole(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() >= BYTES)
}

/// Returns whether an error means that the disk is full.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Creates the reserve if the disk has room for it.
///
/// # Errors
/// Why it could not be created.
fn create(path: &Path, free: Option<u64>) -> io::Result<()> {
    if free.is_none_or(|free| free < ROOM * BYTES) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    // A file system that compresses would reserve no space for zeros.
    let mut bytes = vec![0; usize::try_from(BYTES).unwrap_or(usize::MAX)];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    files::replace(path, &[&bytes])
}

/// Deletes the reserve; returns whether there was one.
pub(super) fn release(path: &Path) -> bool {
    fs::remove_file(path).is_ok()
}
