//! The cache of compiled code on disk, which outlives a restart.

#[cfg(all(test, feature = "compiler"))]
mod tests;

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    io::{self, Read as _},
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use bulkhead_config::slots::SlotId;
use bulkhead_os::files;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{CacheSettings, ComponentDigest, MachineCode};
use crate::engine::Engine;

/// Bytes of the authentication code before the code itself.
const TAG_BYTES: usize = 32;

/// The error of storing or loading compiled code.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The folder, or a file in it, cannot be read or written.
    #[error("{0}: {1}; make the folder writable or set sandbox.cache = false")]
    Io(PathBuf, io::Error),
    /// The file is damaged, or this host did not write it.
    #[error("{0} is damaged or was not written by this host")]
    NotAuthentic(PathBuf),
    /// wasmtime refuses the code.
    #[error("wasmtime refuses the compiled code: {0:#}")]
    Refused(wasmtime::Error),
}

/// Compiled code on disk, each file authenticated with a key of this host: machine code from anywhere
/// else would run outside the sandbox.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    /// An HMAC that has its key and no data.
    mac: Hmac<Sha256>,
    engine: u64,
    /// Most bytes of all files; above it, the least recently used are evicted.
    bytes: u64,
    /// The components that each slot needs, which are never evicted.
    retained: Mutex<BTreeMap<SlotId, Vec<ComponentDigest>>>,
    evicts: AtomicBool,
}

/// Hashes the settings that decide whether one engine runs code of another.
#[cfg(feature = "compiler")]
fn compatibility(engine: &Engine) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    engine.wasmtime().precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

/// Nothing is kept without a compiler.
#[cfg(not(feature = "compiler"))]
const fn compatibility(_: &Engine) -> u64 {
    0
}

impl Cache {
    pub(super) fn open(settings: CacheSettings, engine: &Engine) -> Result<Self, CacheError> {
        let CacheSettings { folder, key, bytes } = settings;
        fs::create_dir_all(&folder).map_err(|error| CacheError::Io(folder.clone(), error))?;
        let engine = compatibility(engine);
        // HMAC takes keys of any length, so this cannot fail.
        let mac = <Hmac<Sha256>>::new_from_slice(&key.derive(b"compiled code cache", b""))
            .map_err(|_| CacheError::NotAuthentic(folder.clone()))?;
        Ok(Self { folder, mac, engine, bytes, retained: Mutex::default(), evicts: AtomicBool::new(false) })
    }

    fn path(&self, digest: ComponentDigest) -> PathBuf {
        self.folder.join(format!("{}-{:016x}.cwasm", hex::encode(digest.as_bytes()), self.engine))
    }

    /// Returns the HMAC over the component's digest, the engine and the code.
    fn mac(&self, digest: ComponentDigest, code: &[u8]) -> Hmac<Sha256> {
        let mac = self.mac.clone().chain_update(digest.as_bytes());
        mac.chain_update(self.engine.to_le_bytes()).chain_update(code)
    }

    /// Returns whether there is a file for this component, intact or not.
    pub(super) fn has(&self, digest: ComponentDigest) -> bool {
        self.path(digest).exists()
    }

    pub(super) fn load(&self, digest: ComponentDigest) -> Result<Option<MachineCode>, CacheError> {
        let path = self.path(digest);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CacheError::Io(path, error)),
        };
        let (mut tag, mut code) = ([0; TAG_BYTES], Vec::new());
        match file.read_exact(&mut tag).and_then(|()| file.read_to_end(&mut code)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(CacheError::NotAuthentic(path));
            }
            Err(error) => return Err(CacheError::Io(path, error)),
        }
        if self.mac(digest, &code).verify_slice(&tag).is_err() {
            return Err(CacheError::NotAuthentic(path));
        }
        // For eviction of the least recently used. A file system that does not keep the time loses only the order.
        let _ = file.set_modified(SystemTime::now());
        Ok(Some(MachineCode::new(code)))
    }

    pub(super) fn store(&self, code: &MachineCode, digest: ComponentDigest) -> Result<(), CacheError> {
        let path = self.path(digest);
        let tag = self.mac(digest, code.as_bytes()).finalize().into_bytes();
        let parts = [tag.as_slice(), code.as_bytes()];
        files::replace(&path, &parts).map_err(|error| CacheError::Io(path, error))?;
        if self.evicts() { self.evict() } else { Ok(()) }
    }

    /// Keeps the files of these components, until `slot` names others.
    pub(super) fn retain(&self, slot: SlotId, digests: Vec<ComponentDigest>) {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner).insert(slot, digests);
    }

    /// Evicts now, and from now on after each stored file.
    pub(super) fn start_eviction(&self) -> Result<(), CacheError> {
        self.evicts.store(true, Ordering::Release);
        self.evict()
    }

    pub(super) fn evicts(&self) -> bool {
        self.evicts.load(Ordering::Acquire)
    }

    /// Removes the least recently used files until the others fit the limit, but none that a slot needs. Another host
    /// that shares the folder may remove a file first.
    fn evict(&self) -> Result<(), CacheError> {
        let listed = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        };
        let failed = |error| CacheError::Io(self.folder.clone(), error);
        let mut files: Vec<_> = fs::read_dir(&self.folder).map_err(failed)?.filter_map(listed).collect();
        files.sort();
        let needed: HashSet<PathBuf> = {
            let retained = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
            retained.values().flatten().map(|digest| self.path(*digest)).collect()
        };
        let mut total =
            files.iter().map(|(_, bytes, _)| bytes).fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        for (_, bytes, path) in files.iter().filter(|(.., path)| !needed.contains(path)) {
            if total <= self.bytes {
                break;
            }
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => total = total.saturating_sub(*bytes),
            }
        }
        Ok(())
    }
}
