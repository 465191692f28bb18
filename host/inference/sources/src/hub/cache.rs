//! The hub's cache folder for one model.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bulkhead_inference::atomic_file;
use bulkhead_inference::error::SourceError;

use super::HubSettings;

/// One model's part of the cache.
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    pub fn new(settings: &HubSettings, id: &str) -> Self {
        Self { root: settings.cache.join(format!("models--{}", id.replace('/', "--"))) }
    }

    /// Creates the folders.
    pub fn prepare(&self) -> Result<(), SourceError> {
        for folder in ["blobs", "snapshots", "refs"].map(|name| self.root.join(name)) {
            fs::create_dir_all(&folder).map_err(|source| SourceError::write(&folder, source))?;
        }
        Ok(())
    }

    pub fn lock(&self) -> PathBuf {
        self.root.join(".bulkhead.lock")
    }

    /// Returns the commit that a revision meant when it was last fetched.
    pub fn commit(&self, revision: &str) -> Option<String> {
        if self.snapshot(revision).is_dir() {
            return Some(revision.to_owned());
        }
        let commit = fs::read_to_string(self.root.join("refs").join(revision)).ok()?.trim().to_owned();
        // It becomes part of a path.
        commit
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then_some(commit)
            .filter(|commit| !commit.is_empty())
    }

    /// Remembers what a revision means.
    pub fn set_commit(&self, revision: &str, commit: &str) -> Result<(), SourceError> {
        let path = self.root.join("refs").join(revision);
        atomic_file::write(&path, |file| file.write_all(commit.as_bytes()))
            .map_err(|source| SourceError::write(&path, source))
    }

    pub fn snapshot(&self, commit: &str) -> PathBuf {
        self.snapshots().join(commit)
    }

    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    pub fn has(&self, commit: &str, name: &str) -> bool {
        self.snapshot(commit).join(name).is_file()
    }

    /// Returns where a file's bytes are kept.
    pub fn blob(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(etag)
    }

    /// Links a snapshot's file to a blob.
    pub fn link(&self, commit: &str, name: &str, blob: &Path) -> Result<(), SourceError> {
        let path = self.snapshot(commit).join(name);
        write_parent(&path)?;
        let failed = |source| SourceError::write(&path, source);
        if fs::symlink_metadata(&path).is_ok() {
            // A link whose blob is gone.
            fs::remove_file(&path).map_err(failed)?;
        }
        #[cfg(unix)]
        {
            let up = "../".repeat(name.split('/').count() + 1);
            let blob = blob.file_name().unwrap_or_default();
            std::os::unix::fs::symlink(Path::new(&up).join("blobs").join(blob), &path).map_err(failed)
        }
        #[cfg(not(unix))]
        {
            fs::copy(blob, &path).map(|_| ()).map_err(failed)
        }
    }
}

fn write_parent(path: &Path) -> Result<(), SourceError> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(|source| SourceError::write(parent, source)),
        None => Ok(()),
    }
}
