//! Sets damaged files aside, and keeps their names for the report of a host's health.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// What is appended to the name of a damaged file.
const DAMAGED: &str = ".damaged";

/// Returns the name under which a damaged file is kept.
pub fn damaged_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(DAMAGED);
    PathBuf::from(name)
}

/// The damaged files that a host has set aside since it was started, wherever they are. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct DamagedFiles(Arc<Mutex<BTreeMap<PathBuf, PathBuf>>>);

impl DamagedFiles {
    /// Renames a damaged file, so that a new one can be made, and returns its new path. An earlier damaged file of this name
    /// is replaced.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn set_aside(&self, path: &Path) -> io::Result<PathBuf> {
        let aside = damaged_path(path);
        fs::rename(path, &aside)?;
        self.record(path, &aside);
        Ok(aside)
    }

    /// Records that a damaged file, or one that belongs to it, was renamed to `aside`.
    pub fn record(&self, path: &Path, aside: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), aside.to_owned());
    }

    /// Returns every file with its new path.
    pub fn all(&self) -> BTreeMap<PathBuf, PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn damaged_file_is_renamed_and_recorded() {
        let (folder, damaged) = (tempfile::tempdir().unwrap(), DamagedFiles::default());
        let path = folder.path().join("state.json");
        for text in ["one", "two"] {
            fs::write(&path, text).unwrap();
            let aside = damaged.clone().set_aside(&path).unwrap();
            assert_eq!((aside.clone(), path.exists()), (folder.path().join("state.json.damaged"), false));
            assert_eq!(fs::read_to_string(&aside).unwrap(), text);
            assert_eq!(damaged.all(), BTreeMap::from([(path.clone(), aside)]));
        }
        let missing = folder.path().join("missing");
        assert_eq!(damaged.set_aside(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(damaged.all().len(), 1);
    }
}
