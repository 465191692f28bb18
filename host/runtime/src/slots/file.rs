//! Reads the file of a component.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bulkhead_os::files;

/// The error of a component's file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Unreadable(PathBuf, io::Error),
    /// The file is too large.
    #[error("{0} has more than {1} bytes; raise sandbox.component_bytes")]
    TooLarge(PathBuf, usize),
}

/// Reads a component's file, with at most `cap` + 1 bytes in memory.
///
/// # Errors
/// When it cannot be read or has more than `cap` bytes.
pub fn read_component(path: &Path, cap: usize) -> Result<Arc<[u8]>, FileError> {
    match files::read(path, cap) {
        Ok(wasm) => Ok(wasm.into()),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err(FileError::TooLarge(path.to_owned(), cap))
        }
        Err(error) => Err(FileError::Unreadable(path.to_owned(), error)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn file_over_cap_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guest.wasm");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(*read_component(&path, 5).unwrap(), *b"12345");
        let refusal = read_component(&path, 4).unwrap_err().to_string();
        assert!(refusal.ends_with("has more than 4 bytes; raise sandbox.component_bytes"), "{refusal}");
        let missing = read_component(&folder.path().join("none"), 5).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read "), "{missing}");
    }

    /// Neither file would fit into memory.
    #[test]
    fn endless_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let sparse = folder.path().join("sparse");
        std::fs::File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
        let refusal = read_component(&sparse, 1 << 16);
        assert!(matches!(refusal, Err(FileError::TooLarge(..))), "{refusal:?}");
        let refusal = read_component(Path::new("/dev/zero"), 1 << 16);
        assert!(matches!(refusal, Err(FileError::Unreadable(..))), "{refusal:?}");
    }
}
