//! The files of a model's folder: names, sizes and digests.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::LoadError;
use crate::progress::Progress;
use crate::tensors::shards;

/// Folders nested deeper than this do not belong to a model; the limit also ends a walk through a loop of links.
const DEPTH: usize = 4;
/// Bytes read at a time while a digest is computed.
const STEP: usize = 1 << 20;

/// A file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFile {
    /// Path below the model's folder, parts joined by `/`.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Lists all files of a folder by name. Links are followed (a hub cache is made of links), hidden names left out.
///
/// # Errors
///
/// When a folder cannot be read.
pub fn contents(folder: &Path) -> Result<Vec<ModelFile>, LoadError> {
    let mut found = Vec::new();
    walk(folder, "", DEPTH, &mut found)?;
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn walk(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<ModelFile>) -> Result<(), LoadError> {
    for entry in fs::read_dir(folder).map_err(|source| LoadError::read(folder, source))? {
        let entry = entry.map_err(|source| LoadError::read(folder, source))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let path = entry.path();
        let name = format!("{prefix}{name}");
        let metadata = fs::metadata(&path).map_err(|source| LoadError::read(&path, source))?;
        if !metadata.is_dir() {
            found.push(ModelFile { name, bytes: metadata.len() });
        } else if depth > 0 {
            walk(&path, &format!("{name}/"), depth - 1, found)?;
        }
    }
    Ok(())
}

/// Computes a file's SHA-256 as 64 lower-case hexadecimal digits; the file is streamed.
///
/// # Errors
///
/// When the file cannot be read.
pub fn sha256(path: &Path, progress: &mut dyn Progress) -> Result<String, LoadError> {
    whole(path, &[path.to_path_buf()], progress)
}

/// Computes the SHA-256 of a model's weights; several files are read one after the other.
pub(super) fn weights_sha256(path: &Path, progress: &mut dyn Progress) -> Result<String, LoadError> {
    whole(path, &shards::files(path)?, progress)
}

fn whole(path: &Path, files: &[PathBuf], progress: &mut dyn Progress) -> Result<String, LoadError> {
    let length = |path: &PathBuf| {
        fs::metadata(path).map(|data| data.len()).map_err(|source| LoadError::read(path, source))
    };
    let total = files.iter().map(length).sum::<Result<u64, _>>()?;
    progress.start(&format!("check {}", path.file_name().unwrap_or_default().to_string_lossy()), Some(total));
    let digest = digest_all(files, progress);
    progress.finish();
    digest.map(hex::encode)
}

/// Does the same as [`sha256`], as a part of a longer step.
pub(super) fn digest(path: &Path, progress: &mut dyn Progress) -> Result<String, LoadError> {
    digest_all(&[path.to_path_buf()], progress).map(hex::encode)
}

/// Computes the SHA-256 of files, one after the other.
pub(crate) fn digest_all(files: &[PathBuf], progress: &mut dyn Progress) -> Result<[u8; 32], LoadError> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; STEP];
    for path in files {
        let failed = |source| LoadError::read(path, source);
        let mut file = File::open(path).map_err(failed)?;
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    digest.update(buffer.get(..count).unwrap_or_default());
                    progress.advance(count as u64);
                }
                Err(source) if source.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(failed(source)),
            }
        }
    }
    Ok(digest.finalize().into())
}
