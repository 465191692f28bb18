//! Atomic creation of folders.
//!
//! Files are written into a hidden folder next to the target (same file system, so that the last step is one rename).
//! A process that is killed leaves the hidden folder behind; [`sweep`] finds and removes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bulkhead_inference::error::SourceError;
use bulkhead_inference::folder::contents::contents;

/// The common part of the names of unfinished folders; followed by process id and a number.
const MARK: &str = ".partial-";

/// An unfinished folder; removed again when dropped before [`Staging::commit`] or [`Staging::replace`].
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    folder: PathBuf,
    committed: bool,
}

impl Staging {
    /// Creates the hidden folder `.NAME.partial-PID-N` next to `target`, and `target`'s parent if need be.
    ///
    /// # Errors
    ///
    /// When the target exists, has no name, or the folder cannot be made.
    pub fn begin(target: &Path) -> Result<Self, SourceError> {
        if target.exists() {
            return Err(SourceError::unwritable(
                target,
                "it exists already; remove it or name another folder",
            ));
        }
        Self::next_to(target)
    }

    /// Does the same as [`Staging::begin`], but the target may exist: for [`Staging::replace`].
    ///
    /// # Errors
    ///
    /// When the target has no name or the folder cannot be made.
    pub fn next_to(target: &Path) -> Result<Self, SourceError> {
        let folder = hidden(target)?;
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(|source| SourceError::write(parent, source))?;
        }
        // A killed process may have had this id before: its folder is unused.
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|source| SourceError::write(&folder, source))?;
        }
        fs::create_dir(&folder).map_err(|source| SourceError::write(&folder, source))?;
        Ok(Self { target: target.to_path_buf(), folder, committed: false })
    }

    /// Returns the unfinished folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the folder its final name in one step.
    ///
    /// # Errors
    ///
    /// When it cannot be renamed; it is removed then.
    pub fn commit(mut self) -> Result<(), SourceError> {
        self.flush()?;
        fs::rename(&self.folder, &self.target).map_err(|source| SourceError::write(&self.target, source))?;
        self.committed = true;
        Ok(())
    }

    /// Does the same as [`Staging::commit`] and removes what was at the target. A process that has its files open or
    /// mapped keeps them.
    ///
    /// # Errors
    ///
    /// When something cannot be renamed or removed.
    pub fn replace(mut self) -> Result<(), SourceError> {
        self.flush()?;
        let old = hidden(&self.target)?;
        fs::rename(&self.target, &old).map_err(|source| SourceError::write(&self.target, source))?;
        fs::rename(&self.folder, &self.target).map_err(|source| SourceError::write(&self.target, source))?;
        self.committed = true;
        fs::remove_dir_all(&old).map_err(|source| SourceError::write(&old, source))
    }

    fn flush(&self) -> Result<(), SourceError> {
        // The directory entry is what makes the model visible, so the files' bytes go to disk before it.
        for file in contents(&self.folder)? {
            let file = self.folder.join(&file.name);
            fs::File::open(&file)
                .and_then(|file| file.sync_all())
                .map_err(|source| SourceError::write(&file, source))?;
        }
        Ok(())
    }
}

/// Returns a hidden name next to the target that nothing else uses.
fn hidden(target: &Path) -> Result<PathBuf, SourceError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or_else(|| SourceError::unwritable(target, "the path has no name"))?;
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Ok(parent.join(format!(".{}{MARK}{}-{number}", name.to_string_lossy(), std::process::id())))
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.committed
            && let Err(fault) = fs::remove_dir_all(&self.folder)
        {
            tracing::warn!(folder = %self.folder.display(), %fault, "an unfinished model folder remains");
        }
    }
}

/// Removes what killed processes left for `target`, and returns what was removed. Only under a lock that keeps
/// other processes from working on the same target.
///
/// # Errors
///
/// When a leftover cannot be removed.
pub fn sweep(target: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else { return Ok(Vec::new()) };
    let start = format!(".{}{MARK}", name.to_string_lossy());
    let mut swept = Vec::new();
    let Ok(entries) = fs::read_dir(parent) else { return Ok(swept) };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&start) {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(|source| SourceError::write(&path, source))?;
            tracing::warn!(folder = %path.display(), "removed an unfinished model folder of an interrupted run");
            swept.push(path);
        }
    }
    Ok(swept)
}
