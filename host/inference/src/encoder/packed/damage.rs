//! The integrity check of a cache file. To read all of it takes longer than a start may, so it runs while the image
//! is in use.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use super::layout::HEADER;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// A flag that is set once the check has failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Damage(Arc<AtomicBool>);

impl Damage {
    /// Returns whether the image differs from the one that was packed.
    pub(super) fn is_found(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Reads the file on a thread of its own, and removes it if its image does not have the digest `packed`: the next
    /// start packs the weights again.
    pub(super) fn look_for(&self, file: File, path: PathBuf, packed: [u8; 32]) {
        let (found, identity) = (Arc::clone(&self.0), file.metadata().ok().map(|data| identity(&data)));
        let look = move || match digest(file) {
            Ok(digest) if digest == packed => tracing::debug!("{}: intact", path.display()),
            Ok(_) => {
                found.store(true, Ordering::Relaxed);
                report(&path, identity);
            }
            Err(fault) => tracing::warn!("{}: the digest cannot be checked: {fault}", path.display()),
        };
        if let Err(fault) = std::thread::Builder::new().name("packed-digest".to_owned()).spawn(look) {
            tracing::warn!("the digest of packed weights is not checked, there is no thread for it: {fault}");
        }
    }
}

fn report(path: &Path, damaged: Option<[u64; 2]>) {
    // Another process may have put a new file in its place meanwhile.
    if fs::metadata(path).ok().map(|data| identity(&data)) != damaged {
        tracing::error!("{}: the packed weights in use are damaged; restart the host", path.display());
        return;
    }
    let removed = fs::remove_file(path)
        .map_or_else(|fault| format!("cannot be removed: {fault}"), |()| "was removed".to_owned());
    tracing::error!(
        "{}: the packed weights are damaged, the file {removed}; calls of this model fail until the host is restarted, \
         which packs them again",
        path.display()
    );
}

/// Returns what distinguishes a file from the one that replaces it.
#[cfg(unix)]
fn identity(data: &fs::Metadata) -> [u64; 2] {
    use std::os::unix::fs::MetadataExt as _;
    [data.dev(), data.ino()]
}

#[cfg(not(unix))]
fn identity(data: &fs::Metadata) -> [u64; 2] {
    [data.len(), 0]
}

/// Digests what follows the header. It reads the file and not the map, whose pages would all count as this process's
/// memory.
fn digest(mut file: File) -> io::Result<[u8; 32]> {
    file.seek(SeekFrom::Start(HEADER as u64))?;
    let (mut digest, mut chunk) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(digest.finalize().into()),
            read => digest.update(chunk.get(..read).unwrap_or_default()),
        }
    }
}
