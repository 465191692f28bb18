//! Secrets of the host: the master key, keys that are derived from it, and key rings by name.

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
use bulkhead_os::{
    damaged_files::{DamagedFiles, damaged_path},
    files,
};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq as _;

/// Random bytes of a generated secret.
const GENERATED_BYTES: usize = 32;
/// Bytes of the checksum that it begins with: the first of the SHA-256 of its random digits.
const CHECKSUM_BYTES: usize = 4;
/// Most characters that are no hexadecimal digits of a text that may be a damaged generated secret: what follows its checksum,
/// and a digit that was overwritten.
const OTHER_CHARACTERS: usize = 2;

/// The error of a generated secret that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// Reading or writing failed.
    #[error("{0}: {1}; make the data folder writable or set data_dir")]
    Io(PathBuf, io::Error),
    /// The file is shorter than a generated secret, differs from its checksum, or is no text.
    #[error("{0} holds no usable secret; remove it to have a new one generated")]
    Unusable(PathBuf),
    /// Other users can read the file.
    #[error("{0} can be read by others; run chmod 600 on it")]
    Exposed(PathBuf),
    /// The operating system returned no random bytes.
    #[error("the operating system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

/// A secret from which others are derived. Its debug output is `***`.
#[derive(Clone)]
pub struct MasterKey(Vec<u8>);

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl SecretFileError {
    /// Returns whether the disk is read-only or full, so that a new secret cannot be kept.
    pub fn is_of_disk(&self) -> bool {
        matches!(self, Self::Io(_, error) if files::is_disk_fault(error))
    }
}

impl MasterKey {
    /// Returns a master key from configured text.
    pub fn new(secret: &str) -> Self {
        Self(secret.as_bytes().to_vec())
    }

    /// Generates a secret that is kept nowhere.
    ///
    /// # Errors
    /// When the operating system returns no random bytes.
    pub fn generate() -> Result<Self, SecretFileError> {
        let mut secret = [0; GENERATED_BYTES];
        getrandom::fill(&mut secret).map_err(SecretFileError::Random)?;
        let digits = hex::encode(secret);
        Ok(Self(format!("{}-{digits}", checksum(&digits)).into_bytes()))
    }

    /// Reads the secret in `path`, or generates it with mode 600 when the file does not exist. A damaged file is set aside and
    /// recorded in `damaged`.
    ///
    /// # Errors
    /// When the file cannot be read or written, or others can read it.
    pub fn load_or_generate(path: &Path, damaged: &DamagedFiles) -> Result<Self, SecretFileError> {
        let io = |error| SecretFileError::Io(path.to_owned(), error);
        match read(path) {
            Ok(Some(key)) => return Ok(key),
            // An earlier start may have ended once it had set a damaged one aside.
            Ok(None) => {
                let aside = damaged_path(path);
                if aside.exists() {
                    damaged.record(path, &aside);
                    report_lost(path, &aside);
                }
            }
            Err(SecretFileError::Unusable(_)) => set_aside(path, damaged).map_err(io)?,
            Err(error) => return Err(error),
        }
        let made = Self::generate()?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(io)?;
        }
        let temporary = path.with_extension(format!("{}.tmp", uuid::Uuid::new_v4()));
        let mut file =
            fs::File::options().write(true).create_new(true).mode(0o600).open(&temporary).map_err(io)?;
        let written = file.write_all(&made.0).and_then(|()| file.sync_all());
        // A hard link fails where a rename would replace: of two hosts that start at once, the second uses the first
        // one's secret.
        let linked = written.and_then(|()| fs::hard_link(&temporary, path));
        // Also where the disk is full, so that not every start leaves one.
        fs::remove_file(&temporary).map_err(io)?;
        // A link is durable once the folder is synchronized.
        path.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all()).map_err(io)?;
        match linked {
            Ok(()) => Ok(made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                read(path)?.ok_or_else(|| SecretFileError::Unusable(path.to_owned()))
            }
            Err(error) => Err(io(error)),
        }
    }

    /// Reads the secret in `path`; `None` when the file does not exist.
    ///
    /// # Errors
    /// When the file cannot be read, holds no secret, or others can read it.
    pub fn load(path: &Path) -> Result<Option<Self>, SecretFileError> {
        read(path)
    }

    /// Derives 32 bytes for one `purpose` (HKDF-SHA-256, RFC 5869); `context` separates uses of one purpose.
    pub fn derive(&self, purpose: &[u8], context: &[u8]) -> [u8; 32] {
        let mut key = [0; 32];
        let length = (purpose.len() as u64).to_be_bytes();
        // 32 bytes are under HKDF's limit of 255 blocks, so expanding cannot fail.
        let _ = Hkdf::<Sha256>::new(Some(b"bulkhead"), &self.0)
            .expand_multi_info(&[&length, purpose, context], &mut key);
        key
    }

    /// Returns the secret as it was configured, for peers that use it without derivation.
    pub fn raw(&self) -> &[u8] {
        &self.0
    }
}

/// Reads a secret file, if it exists.
fn read(path: &Path) -> Result<Option<MasterKey>, SecretFileError> {
    let io = |error| SecretFileError::Io(path.to_owned(), error);
    let text = match files::read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(SecretFileError::Unusable(path.to_owned()));
        }
        Err(error) => return Err(io(error)),
    };
    if fs::metadata(path).map_err(io)?.permissions().mode() & 0o077 != 0 {
        return Err(SecretFileError::Exposed(path.to_owned()));
    }
    let text = text.trim();
    // A power cut may leave zeros in place of what was written, which everybody could guess.
    if is_damaged(text) || text.len() < GENERATED_BYTES || text.chars().any(char::is_control) {
        return Err(SecretFileError::Unusable(path.to_owned()));
    }
    Ok(Some(MasterKey::new(text)))
}

/// Returns whether a text was a generated secret, of which a part is missing or another digit is there: it would be another
/// secret. One of an earlier version has no checksum.
fn is_damaged(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    if digits == text.len() {
        return digits < 2 * GENERATED_BYTES || digits % 2 == 1;
    }
    let is_whole =
        |(sum, digits): (&str, &str)| digits.len() == 2 * GENERATED_BYTES && sum == checksum(digits);
    text.len() - digits <= OTHER_CHARACTERS && !text.split_once('-').is_some_and(is_whole)
}

/// Returns the checksum of the random digits of a generated secret, in hexadecimal digits.
fn checksum(digits: &str) -> String {
    Sha256::digest(digits).iter().take(CHECKSUM_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// Logs what it means that a secret was damaged.
fn report_lost(path: &Path, aside: &Path) {
    tracing::error!(
        file = %path.display(),
        aside = %aside.display(),
        "the secret is damaged and a new one is generated: what the old one has signed is not accepted any more"
    );
}

/// Sets a damaged secret file aside.
fn set_aside(path: &Path, damaged: &DamagedFiles) -> io::Result<()> {
    let folder = fs::File::open(path.parent().unwrap_or(Path::new(".")))?;
    // Of two hosts that start at once, the second finds the first one's new secret.
    folder.lock()?;
    if matches!(read(path), Err(SecretFileError::Unusable(_))) {
        report_lost(path, &damaged.set_aside(path)?);
    }
    Ok(())
}

/// The hash function of an HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum HmacHash {
    Sha256,
    Sha384,
    Sha512,
}

/// One key of a ring. Its debug output omits the secret.
#[derive(Clone)]
pub struct Key {
    id: String,
    secret: Vec<u8>,
    /// HMAC-SHA-256 that has read the secret.
    sha256: Option<Hmac<Sha256>>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.id).finish()
    }
}

impl Key {
    /// Returns a key whose id discloses nothing of its secret.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        let secret = secret.into();
        let id = Sha256::new_with_prefix(b"bulkhead key id").chain_update(&secret).finalize();
        let id = id.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let sha256 = Hmac::new_from_slice(&secret).ok();
        Self { id, secret, sha256 }
    }

    /// Returns its id, eight hex digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the HMAC (RFC 2104) of `data`.
    pub fn hmac(&self, hash: HmacHash, data: &[u8]) -> Vec<u8> {
        // HMAC accepts keys of any length, so this cannot fail.
        macro_rules! tag {
            ($mac:expr) => {
                $mac.map(|mac| mac.chain_update(data).finalize().into_bytes().to_vec()).unwrap_or_default()
            };
        }
        match hash {
            HmacHash::Sha256 => tag!(self.sha256.clone()),
            HmacHash::Sha384 => tag!(<Hmac<Sha384>>::new_from_slice(&self.secret)),
            HmacHash::Sha512 => tag!(<Hmac<Sha512>>::new_from_slice(&self.secret)),
        }
    }

    /// Returns whether `tag` is the HMAC of `data`, compared in constant time.
    pub fn verifies(&self, hash: HmacHash, data: &[u8], tag: &[u8]) -> bool {
        let expected = self.hmac(hash, data);
        !expected.is_empty() && bool::from(expected.ct_eq(tag))
    }

    /// Returns HKDF-SHA-256 output for a component, or `None` above 255 * 32 bytes.
    pub(crate) fn derive_for_guest(&self, info: &[u8], length: usize) -> Option<Vec<u8>> {
        let mut output = vec![0; length];
        Hkdf::<Sha256>::new(Some(b"bulkhead guest"), &self.secret).expand(info, &mut output).ok()?;
        Some(output)
    }
}

/// The keys of one name, the current one first.
pub type NamedKeys = Arc<[Key]>;

/// Keys by name, held weakly. A name is known while a holder of its keys lives, so that a running operation ends with
/// the keys with which it began.
#[derive(Debug, Default)]
pub struct KeyRing(ArcSwap<BTreeMap<String, Weak<[Key]>>>);

impl KeyRing {
    /// Returns the keys of a name, the current one first: those that another holder has, or else those of `make`.
    pub fn get_or_insert_with(&self, name: &str, make: impl FnOnce() -> Vec<Key>) -> NamedKeys {
        if let Some(keys) = self.accepted(name) {
            return keys;
        }
        let keys: NamedKeys = make().into();
        self.0.rcu(|names| {
            let live = names.iter().filter(|(_, keys)| keys.strong_count() > 0);
            let live = live.map(|(name, keys)| (name.clone(), Weak::clone(keys)));
            live.chain([(name.to_owned(), Arc::downgrade(&keys))]).collect::<BTreeMap<_, _>>()
        });
        keys
    }

    /// Returns every key that verifies under `name`, of which the first signs.
    pub fn accepted(&self, name: &str) -> Option<NamedKeys> {
        self.0.load().get(name)?.upgrade()
    }
}
