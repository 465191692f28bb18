//! Signs headers of packs with a secret key of minisign.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::{Engine as _, prelude::BASE64_STANDARD};

/// Ed25519 over the bytes themselves.
const ALGORITHM: &[u8] = b"Ed";
/// The key derivation of a secret key without a password.
const NO_PASSWORD: [u8; 2] = [0, 0];
/// That of one with a password, scrypt.
const PASSWORD: [u8; 2] = *b"Sc";
/// Algorithm of the checksum, and salt and limits of the key derivation, bytes.
const DERIVATION_BYTES: usize = 2 + 32 + 8 + 8;
/// Checksum of the key, bytes.
const CHECKSUM_BYTES: usize = 32;

/// The error of a secret key that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PackSignerError {
    /// It cannot be read.
    #[error("cannot read the secret key {0}: {1}")]
    Io(PathBuf, io::Error),
    /// It is not a secret key.
    #[error("{0} is not a secret key of minisign; make one with `minisign -G -W`")]
    Malformed(PathBuf),
    /// It has a password.
    #[error("the secret key {0} has a password; remove it from a copy with `minisign -C -W`")]
    Password(PathBuf),
}

/// A secret key that signs packs.
pub struct PackSigner {
    id: [u8; 8],
    pair: Ed25519KeyPair,
}

impl fmt::Debug for PackSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackSigner").field("key", &self.public_key()).finish()
    }
}

impl PackSigner {
    /// Reads the file of a secret key.
    ///
    /// # Errors
    /// When it cannot be read, has a password, or is no secret key.
    pub fn read(path: &Path) -> Result<Self, PackSignerError> {
        let text = fs::read_to_string(path).map_err(|error| PackSignerError::Io(path.to_owned(), error))?;
        let malformed = || PackSignerError::Malformed(path.to_owned());
        let line = text.lines().nth(1).ok_or_else(malformed)?;
        let bytes = BASE64_STANDARD.decode(line.trim()).map_err(|_| malformed())?;
        let rest = bytes.strip_prefix(ALGORITHM).ok_or_else(malformed)?;
        let (derivation, rest) = rest.split_first_chunk::<2>().ok_or_else(malformed)?;
        match *derivation {
            NO_PASSWORD => Self::of_fields(rest).ok_or_else(malformed),
            PASSWORD => Err(PackSignerError::Password(path.to_owned())),
            // Such as a public key.
            _ => Err(malformed()),
        }
    }

    /// Reads what follows the key derivation.
    fn of_fields(bytes: &[u8]) -> Option<Self> {
        let (_, rest) = bytes.split_first_chunk::<DERIVATION_BYTES>()?;
        let (id, rest) = rest.split_first_chunk::<8>()?;
        let (seed, rest) = rest.split_first_chunk::<32>()?;
        let (public, rest) = rest.split_first_chunk::<32>()?;
        // Instead of the checksum, the public key is compared with the secret one.
        let pair = Ed25519KeyPair::from_seed_and_public_key(seed, public).ok()?;
        (rest.len() == CHECKSUM_BYTES).then_some(Self { id: *id, pair })
    }

    /// Returns the public key, as `sandbox.pack_keys` takes it.
    pub fn public_key(&self) -> String {
        BASE64_STANDARD.encode([ALGORITHM, &self.id, self.pair.public_key().as_ref()].concat())
    }

    /// Returns the signature of these bytes, the text of a `.minisig` file with the present date.
    pub(super) fn sign(&self, bytes: &[u8]) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let comment = format!("timestamp:{now}\tfile:pack");
        let signature = self.pair.sign(bytes);
        let signature: &[u8] = signature.as_ref();
        let line = BASE64_STANDARD.encode([ALGORITHM, &self.id, signature].concat());
        let global = self.pair.sign(&[signature, comment.as_bytes()].concat());
        let global = BASE64_STANDARD.encode(global);
        format!("untrusted comment: signature of a pack\n{line}\ntrusted comment: {comment}\n{global}\n")
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use tempfile::TempDir;

    use super::*;

    /// Returns the bytes of a secret key.
    fn secret(seed: [u8; 32], derivation: [u8; 2]) -> Vec<u8> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        [
            ALGORITHM,
            &derivation,
            &[0; DERIVATION_BYTES],
            b"packsign",
            &seed,
            pair.public_key().as_ref(),
            &[0; CHECKSUM_BYTES],
        ]
        .concat()
    }

    fn read(bytes: &[u8]) -> Result<PackSigner, PackSignerError> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, format!("untrusted comment: secret\n{}\n", BASE64_STANDARD.encode(bytes))).unwrap();
        PackSigner::read(&path)
    }

    /// Returns a signer of its own for each number.
    pub fn signer(number: u8) -> PackSigner {
        read(&secret([number; 32], NO_PASSWORD)).unwrap()
    }

    #[test]
    fn secret_key_signs_for_its_public_key() {
        let (signer, key) =
            (signer(1), minisign_verify::PublicKey::from_base64(&signer(1).public_key()).unwrap());
        let signature = minisign_verify::Signature::decode(&signer.sign(b"header")).unwrap();
        key.verify(b"header", &signature, true).unwrap();
        key.verify(b"reader", &signature, true).unwrap_err();
        assert!(signature.trusted_comment().starts_with("timestamp:"));
    }

    #[test]
    fn unusable_secret_keys_are_refused() {
        let sound = secret([1; 32], NO_PASSWORD);
        let mut other = sound.clone();
        other[70] ^= 1;
        assert!(matches!(read(&secret([1; 32], PASSWORD)), Err(PackSignerError::Password(_))));
        let public = [ALGORITHM, b"packsign", &[7; 32]].concat();
        let cases: [&[u8]; 6] = [&other, &public, &sound[..sound.len() - 1], &sound[1..], b"Ed", b""];
        for wrong in cases {
            assert!(matches!(read(wrong), Err(PackSignerError::Malformed(_))), "{} bytes", wrong.len());
        }
        let missing = PackSigner::read(Path::new("/absent")).unwrap_err();
        assert!(missing.to_string().contains("/absent"), "{missing}");
    }
}
