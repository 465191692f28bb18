//! A component's file.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::files;

/// Why a file is not looked at.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {0}: {1}")]
    Unreadable(PathBuf, io::Error),
    /// It is too large.
    #[error("{0} has more than {1} bytes; raise sandbox.component_bytes")]
    TooLarge(PathBuf, usize),
}

/// The bytes of a component's file, of which no more than `cap` and one are ever held.
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
    fn a_file_is_read_up_to_the_cap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guest.wasm");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(*read_component(&path, 5).unwrap(), *b"12345");
        let refusal = read_component(&path, 4).unwrap_err().to_string();
        assert!(refusal.ends_with("has more than 4 bytes; raise sandbox.component_bytes"), "{refusal}");
        let missing = read_component(&folder.path().join("none"), 5).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read "), "{missing}");
    }

    /// Neither would fit into memory.
    #[test]
    fn what_has_no_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let sparse = folder.path().join("sparse");
        std::fs::File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
        let refusal = read_component(&sparse, 1 << 16);
        assert!(matches!(refusal, Err(FileError::TooLarge(..))), "{refusal:?}");
        let refusal = read_component(Path::new("/dev/zero"), 1 << 16);
        assert!(matches!(refusal, Err(FileError::Unreadable(..))), "{refusal:?}");
    }
}
