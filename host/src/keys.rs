//! Secrets of the host: the master key, what is derived from it, and key rings by name.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    io::Write as _,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use arc_swap::ArcSwap;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use subtle::{Choice, ConstantTimeEq as _};

use crate::files;

/// Bytes of a generated secret.
const GENERATED_BYTES: usize = 32;

/// Why a generated secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// Reading or writing failed.
    #[error("{0}: {1}; make the data folder writable or set data_dir")]
    Io(PathBuf, io::Error),
    /// The file is shorter than a generated secret.
    #[error("{0} holds no usable secret; remove it to have a new one generated")]
    Short(PathBuf),
    /// Anyone could read it.
    #[error("{0} can be read by others; run chmod 600 on it")]
    Exposed(PathBuf),
    /// The operating system has no random bytes.
    #[error("the operating system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

/// Keys that callers prove themselves with. Only their SHA-256 is kept: equal lengths, so that a comparison tells
/// nothing. Clones share one set, which can be replaced while it is used.
#[derive(Clone, Debug, Default)]
pub struct ApiKeys(Arc<ArcSwap<Vec<[u8; 32]>>>);

/// What of a key is kept: its SHA-256.
pub fn token_hash(key: &str) -> [u8; 32] {
    Sha256::digest(key).into()
}

impl ApiKeys {
    /// A set of keys.
    pub fn new<'k>(keys: impl IntoIterator<Item = &'k str>) -> Self {
        Self::of_hashes(keys.into_iter().map(token_hash))
    }

    /// A set of keys of which only the SHA-256 is known.
    pub fn of_hashes(hashes: impl IntoIterator<Item = [u8; 32]>) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(hashes.into_iter().collect())))
    }

    /// Accepts these keys in place of the ones before, by their SHA-256.
    pub fn replace(&self, hashes: impl IntoIterator<Item = [u8; 32]>) {
        self.0.store(Arc::new(hashes.into_iter().collect()));
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.load().is_empty()
    }

    /// Whether `token` is one of them, in the same time whichever it is.
    pub fn holds(&self, token: &str) -> bool {
        let token = token_hash(token);
        self.0.load().iter().fold(Choice::from(0), |found, key| found | key.ct_eq(&token)).into()
    }
}

/// A secret from which others are derived; prints as `***`.
#[derive(Clone)]
pub struct MasterKey(Vec<u8>);

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl MasterKey {
    /// A master key from configured text.
    pub fn new(secret: &str) -> Self {
        Self(secret.as_bytes().to_vec())
    }

    /// The secret kept in `path`, generated with mode 600 when there is none.
    ///
    /// # Errors
    /// When the file cannot be read or written, or others can read it.
    pub fn in_file(path: &Path) -> Result<Self, SecretFileError> {
        let io = |error| SecretFileError::Io(path.to_owned(), error);
        if let Some(key) = read(path)? {
            return Ok(key);
        }
        let mut secret = [0; GENERATED_BYTES];
        getrandom::fill(&mut secret).map_err(SecretFileError::Random)?;
        let text = hex::encode(secret);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(io)?;
        }
        let beside = path.with_extension(format!("{}.tmp", uuid::Uuid::new_v4()));
        let mut file =
            fs::File::options().write(true).create_new(true).mode(0o600).open(&beside).map_err(io)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(io)?;
        // A hard link, not a rename: of two hosts that start at once, the second takes the first one's.
        let linked = fs::hard_link(&beside, path);
        fs::remove_file(&beside).map_err(io)?;
        match linked {
            Ok(()) => Ok(Self(text.into_bytes())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                read(path)?.ok_or_else(|| SecretFileError::Short(path.to_owned()))
            }
            Err(error) => Err(io(error)),
        }
    }

    /// 32 bytes for one `purpose` (HKDF-SHA-256, RFC 5869); `context` tells uses of one purpose apart.
    pub fn derive(&self, purpose: &[u8], context: &[u8]) -> [u8; 32] {
        let mut key = [0; 32];
        let length = (purpose.len() as u64).to_be_bytes();
        // 32 bytes are under HKDF's limit of 255 blocks, so expanding cannot fail.
        let _ = Hkdf::<Sha256>::new(Some(b"bulkhead"), &self.0)
            .expand_multi_info(&[&length, purpose, context], &mut key);
        key
    }

    /// The secret as it was configured, for peers that use it raw.
    pub fn raw(&self) -> &[u8] {
        &self.0
    }
}

fn read(path: &Path) -> Result<Option<MasterKey>, SecretFileError> {
    let io = |error| SecretFileError::Io(path.to_owned(), error);
    let text = match files::read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    if fs::metadata(path).map_err(io)?.permissions().mode() & 0o077 != 0 {
        return Err(SecretFileError::Exposed(path.to_owned()));
    }
    let text = text.trim();
    if text.len() < GENERATED_BYTES {
        return Err(SecretFileError::Short(path.to_owned()));
    }
    Ok(Some(MasterKey::new(text)))
}

/// Hash of an HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// One key of a ring; prints without its secret.
#[derive(Clone)]
pub struct Key {
    id: String,
    secret: Vec<u8>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.id).finish()
    }
}

impl Key {
    /// A key whose id tells nothing of its secret.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        let secret = secret.into();
        let id = Sha256::new_with_prefix(b"bulkhead key id").chain_update(&secret).finalize();
        Self { id: id.iter().take(4).map(|byte| format!("{byte:02x}")).collect(), secret }
    }

    /// Eight hex digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// HMAC (RFC 2104) of `data`.
    pub fn hmac(&self, hash: Hash, data: &[u8]) -> Vec<u8> {
        // HMAC takes keys of any length, so making one cannot fail.
        macro_rules! tag {
            ($sha:ty) => {
                <Hmac<$sha>>::new_from_slice(&self.secret)
                    .map(|mac| mac.chain_update(data).finalize().into_bytes().to_vec())
                    .unwrap_or_default()
            };
        }
        match hash {
            Hash::Sha256 => tag!(Sha256),
            Hash::Sha384 => tag!(Sha384),
            Hash::Sha512 => tag!(Sha512),
        }
    }

    /// Whether `tag` is the HMAC of `data`, compared in constant time.
    pub fn verifies(&self, hash: Hash, data: &[u8], tag: &[u8]) -> bool {
        let expected = self.hmac(hash, data);
        !expected.is_empty() && bool::from(expected.ct_eq(tag))
    }

    /// HKDF-SHA-256 output for a component; none over 255 * 32 bytes.
    pub fn derive_for_guest(&self, info: &[u8], length: usize) -> Option<Vec<u8>> {
        let mut output = vec![0; length];
        Hkdf::<Sha256>::new(Some(b"bulkhead guest"), &self.secret).expand(info, &mut output).ok()?;
        Some(output)
    }
}

/// The keys of one name, the current one first.
pub type NamedKeys = Arc<[Key]>;

/// Keys by name. A name is known while somebody holds its keys, so that what is under way ends with the keys that it began
/// with.
#[derive(Debug, Default)]
pub struct KeyRing(ArcSwap<BTreeMap<String, Weak<[Key]>>>);

impl KeyRing {
    /// The keys of a name, the current one first: those that are held already, else those that `make` gives.
    pub fn hold(&self, name: &str, make: impl FnOnce() -> Vec<Key>) -> NamedKeys {
        if let Some(held) = self.accepted(name) {
            return held;
        }
        let keys: NamedKeys = make().into();
        self.0.rcu(|names| {
            let held = names.iter().filter(|(_, keys)| keys.strong_count() > 0);
            let held = held.map(|(name, keys)| (name.clone(), Weak::clone(keys)));
            held.chain([(name.to_owned(), Arc::downgrade(&keys))]).collect::<BTreeMap<_, _>>()
        });
        keys
    }

    /// Every key that verifies under `name`; the first one signs.
    pub fn accepted(&self, name: &str) -> Option<NamedKeys> {
        self.0.load().get(name)?.upgrade()
    }
}
