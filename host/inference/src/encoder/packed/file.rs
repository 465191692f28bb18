//! Packed weights as a file of a cache folder.
//!
//! Header, little-endian: magic (8 bytes), format version (u32), zero (u32), sha256 of the layout, sha256 of the
//! source file, stamp of the source (32 bytes, see [`stamp`]), length of the image (u64), sha256 of the image; zeros up
//! to 4096. The image follows.
//!
//! A file whose source has the stamp of the header is believed; with another stamp, if the source still has the
//! digest. Any other file is replaced: written under a temporary name, synced, then renamed. The image's own digest
//! is checked while it is in use (`damage`). Only the host's user may read or write the file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use memmap2::{Mmap, MmapMut};
use sha2::{Digest, Sha256};

use super::damage::Damage;
use super::layout::{HEADER, Layout};
use crate::atomic_file;
use crate::error::LoadError;
use crate::folder::contents::digest_all;
use crate::progress::Silent;
use crate::tensors::shards;

const MAGIC: [u8; 8] = *b"BHPACKED";
/// Raised with every change of the header, the layout's meaning or the quantisation.
const VERSION: u32 = 3;

/// Why a file was not written.
pub(super) enum WriteError {
    /// The model's fault.
    Model(LoadError),
    /// The cache's.
    Cache(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(fault: io::Error) -> Self {
        Self::Cache(fault)
    }
}

/// The place of one model's packed weights in a cache folder.
pub(super) struct Entry {
    path: PathBuf,
    weights: Vec<PathBuf>,
    fingerprint: [u8; 32],
    stamp: [u8; 32],
    length: usize,
}

/// A header's fields that are compared with the model.
struct Header {
    fingerprint: [u8; 32],
    digest: [u8; 32],
    stamp: [u8; 32],
    length: u64,
    image: [u8; 32],
}

/// A sound cache file.
pub(super) struct Opened {
    pub(super) map: Mmap,
    /// Of the source.
    pub(super) digest: [u8; 32],
    pub(super) damage: Damage,
}

impl Entry {
    /// Creates the entry for a weight file or a list of such; named after its path and the element type.
    ///
    /// # Errors
    ///
    /// When a weight file cannot be found.
    pub(super) fn new(cache: &Path, weights: &Path, layout: &Layout) -> Result<Self, LoadError> {
        let failed = |source| LoadError::read(weights, source);
        let real = weights.canonicalize().map_err(failed)?;
        let weights = shards::files(weights)?;
        let stamp = stamp(&weights)?;
        let name = hex::encode(Sha256::digest(real.as_os_str().as_encoded_bytes()));
        let name = format!("{}-{}.packed", name.get(..24).unwrap_or(&name), layout.dtype.name());
        Ok(Self {
            path: cache.join(name),
            weights,
            fingerprint: Sha256::digest(layout.fingerprint()).into(),
            stamp,
            length: layout.length,
        })
    }

    /// Opens the file, if it is there and sound as far as its header says.
    pub(super) fn open(&self) -> Option<Opened> {
        let file = File::open(&self.path).ok()?;
        match self.check(&file) {
            Ok((map, header)) => {
                let damage = Damage::default();
                damage.look_for(file, self.path.clone(), header.image);
                Some(Opened { map, digest: header.digest, damage })
            }
            Err(reason) => {
                tracing::info!("{}: packed again: {reason}", self.path.display());
                None
            }
        }
    }

    fn check(&self, file: &File) -> Result<(Mmap, Header), String> {
        // SAFETY: the map is read only, and files of the cache are replaced by renaming.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(file) }.map_err(|fault| fault.to_string())?;
        let header = Header::read(&map).ok_or("not a file of this version")?;
        if map.len() != HEADER + self.length || header.length != self.length as u64 {
            return Err(format!("{} bytes, not {}", map.len(), HEADER + self.length));
        }
        if header.fingerprint != self.fingerprint {
            return Err("another layout".to_owned());
        }
        if header.stamp != self.stamp {
            let digest = digest_all(&self.weights, &mut Silent).map_err(|fault| fault.to_string())?;
            if digest != header.digest {
                return Err("made from other weights".to_owned());
            }
            self.renew(&header);
        }
        Ok((map, header))
    }

    /// Records the source's new stamp, so that the next start need not digest it; a failure only costs time.
    fn renew(&self, known: &Header) {
        let written = OpenOptions::new()
            .write(true)
            .open(&self.path)
            .and_then(|mut file| file.write_all(&self.header(known.digest, known.image)));
        if let Err(fault) = written {
            tracing::debug!("{}: stamp not renewed: {fault}", self.path.display());
        }
    }

    /// Writes the file and maps it; `fill` is given the image, all zeros.
    pub(super) fn write(
        &self,
        digest: [u8; 32],
        fill: impl FnOnce(&mut [u8]) -> Result<(), LoadError>,
    ) -> Result<Mmap, WriteError> {
        atomic_file::write_private(&self.path, |file| {
            // Through memory, not a writable map of the file: a full disk is an error then, not a bus error.
            let mut image = MmapMut::map_anon(HEADER + self.length)?;
            let (header, body) = image.split_at_mut(HEADER);
            fill(body).map_err(WriteError::Model)?;
            header.copy_from_slice(&self.header(digest, Sha256::digest(&*body).into()));
            file.write_all(&image)?;
            // SAFETY: as in `check`.
            #[allow(unsafe_code)]
            Ok(unsafe { Mmap::map(&*file) }?)
        })
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn header(&self, digest: [u8; 32], image: [u8; 32]) -> Vec<u8> {
        let mut header = Vec::with_capacity(HEADER);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend([0; 4]);
        header.extend(self.fingerprint);
        header.extend(digest);
        header.extend(self.stamp);
        header.extend((self.length as u64).to_le_bytes());
        header.extend(image);
        header.resize(HEADER, 0);
        header
    }
}

/// Returns a cheap mark of unchanged files: the digest of their lengths, times and inodes. A user who replaces a file
/// can give it the length and modification time of the old one, but not its time of change.
fn stamp(files: &[PathBuf]) -> Result<[u8; 32], LoadError> {
    let mut stamp = Sha256::new();
    for path in files {
        let failed = |source| LoadError::read(path, source);
        let data = path.metadata().map_err(failed)?;
        let modified = data.modified().map_err(failed)?.duration_since(UNIX_EPOCH).unwrap_or_default();
        stamp.update(data.len().to_le_bytes());
        stamp.update(modified.as_nanos().to_le_bytes());
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            stamp.update(data.ino().to_le_bytes());
            stamp.update(data.ctime().to_le_bytes());
            stamp.update(data.ctime_nsec().to_le_bytes());
        }
    }
    Ok(stamp.finalize().into())
}

impl Header {
    fn read(file: &[u8]) -> Option<Self> {
        if file.get(..8)? != MAGIC || file.get(8..12)? != VERSION.to_le_bytes() || file.len() < HEADER {
            return None;
        }
        Some(Self {
            fingerprint: file.get(16..48)?.try_into().ok()?,
            digest: file.get(48..80)?.try_into().ok()?,
            stamp: file.get(80..112)?.try_into().ok()?,
            length: u64::from_le_bytes(file.get(112..120)?.try_into().ok()?),
            image: file.get(120..152)?.try_into().ok()?,
        })
    }
}
