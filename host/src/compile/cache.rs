#[cfg(test)]
mod tests;

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::PathBuf,
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use wasmtime::component::Component;

use super::{CacheSettings, ComponentDigest};
use crate::{engine::Engine, files};

/// Files kept; the ones longest unwritten go first.
const FILES: usize = 64;
/// Bytes of the authentication code before the code itself.
const TAG_BYTES: usize = 32;

/// Why compiled code could not be kept or taken back.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The folder or a file in it does not work.
    #[error("{0}: {1}; make the folder writable or set sandbox.cache = false")]
    Io(PathBuf, io::Error),
    /// The file is not one that this host wrote.
    #[error("{0} is damaged or was not written by this host")]
    NotOurs(PathBuf),
    /// wasmtime does not take or give it.
    #[error("wasmtime refuses the compiled code: {0:#}")]
    Refused(wasmtime::Error),
}

/// Compiled code on disk, each file authenticated with a key of this host: machine code from anywhere
/// else would run outside the sandbox.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    /// Keyed, nothing fed yet.
    mac: Hmac<Sha256>,
    engine: u64,
}

impl Cache {
    pub(super) fn open(settings: CacheSettings, engine: &Engine) -> Result<Self, CacheError> {
        let CacheSettings { folder, key } = settings;
        fs::create_dir_all(&folder).map_err(|error| CacheError::Io(folder.clone(), error))?;
        let mut hasher = DefaultHasher::new();
        engine.wasmtime().precompile_compatibility_hash().hash(&mut hasher);
        // HMAC takes keys of any length, so this cannot fail.
        let mac = <Hmac<Sha256>>::new_from_slice(&key.derive(b"compiled code cache", b""))
            .map_err(|_| CacheError::NotOurs(folder.clone()))?;
        Ok(Self { folder, mac, engine: hasher.finish() })
    }

    fn path(&self, digest: ComponentDigest) -> PathBuf {
        self.folder.join(format!("{}-{:016x}.cwasm", hex::encode(digest.as_bytes()), self.engine))
    }

    /// The code's tag covers which component and which engine it was made for.
    fn mac(&self, digest: ComponentDigest, code: &[u8]) -> Hmac<Sha256> {
        let mac = self.mac.clone().chain_update(digest.as_bytes());
        mac.chain_update(self.engine.to_le_bytes()).chain_update(code)
    }

    pub(super) fn load(
        &self,
        engine: &Engine,
        digest: ComponentDigest,
    ) -> Result<Option<Component>, CacheError> {
        let path = self.path(digest);
        let file = match fs::read(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CacheError::Io(path, error)),
        };
        let Some((tag, code)) = file.split_at_checked(TAG_BYTES) else {
            return Err(CacheError::NotOurs(path));
        };
        if self.mac(digest, code).verify_slice(tag).is_err() {
            return Err(CacheError::NotOurs(path));
        }
        // SAFETY: the tag, keyed with a secret of this host and compared in constant time, proves that
        // this host's `Component::serialize` made exactly these bytes for this engine.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize(engine.wasmtime(), code) };
        component.map(Some).map_err(CacheError::Refused)
    }

    pub(super) fn store(&self, component: &Component, digest: ComponentDigest) -> Result<(), CacheError> {
        let code = component.serialize().map_err(CacheError::Refused)?;
        let path = self.path(digest);
        let tag = self.mac(digest, &code).finalize().into_bytes();
        files::replace(&path, &[tag.as_slice(), &code]).map_err(|error| CacheError::Io(path, error))?;
        self.evict().map_err(|error| CacheError::Io(self.folder.clone(), error))
    }

    /// Removes the oldest files beyond [`FILES`]. Another host that shares the folder may be faster.
    fn evict(&self) -> io::Result<()> {
        let aged = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        };
        let mut files: Vec<_> = fs::read_dir(&self.folder)?.filter_map(aged).collect();
        files.sort();
        let surplus = files.len().saturating_sub(FILES);
        files.iter().take(surplus).try_for_each(|(_, path)| match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        })
    }
}
