//! Algorithm names of the two protocols.

use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// A hash, for HMAC signatures and for protocol v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// Only for protocol v1, and only where a site asks for it.
    Sha1,
    /// 32 bytes; the default of every issuer.
    Sha256,
    /// 48 bytes.
    Sha384,
    /// 64 bytes.
    Sha512,
}

impl Hash {
    /// Parses ALTCHA's spelling exactly, as widgets compare it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "SHA-1" => Some(Self::Sha1),
            "SHA-256" => Some(Self::Sha256),
            "SHA-384" => Some(Self::Sha384),
            "SHA-512" => Some(Self::Sha512),
            _ => None,
        }
    }

    /// Returns ALTCHA's spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "SHA-1",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
        }
    }

    /// Returns the SHA-2 hash whose HMAC has `length` bytes. Protocol v2 does not name the hash of a signature; its
    /// length does.
    pub fn from_tag_length(length: usize) -> Option<Self> {
        match length {
            32 => Some(Self::Sha256),
            48 => Some(Self::Sha384),
            64 => Some(Self::Sha512),
            _ => None,
        }
    }

    /// Returns the digest of `data`.
    pub fn digest(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(data).to_vec(),
            Self::Sha256 => Sha256::digest(data).to_vec(),
            Self::Sha384 => Sha384::digest(data).to_vec(),
            Self::Sha512 => Sha512::digest(data).to_vec(),
        }
    }
}

/// A key derivation of protocol v2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Iterated SHA-256, SHA-384 or SHA-512.
    Sha(Hash),
    /// PBKDF2 with HMAC over SHA-256, SHA-384 or SHA-512.
    Pbkdf2(Hash),
    /// scrypt.
    Scrypt,
    /// Argon2id, version 1.3.
    Argon2id,
}

impl Algorithm {
    /// Parses ALTCHA's spelling exactly, as widgets pick their worker by it.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "SCRYPT" => return Some(Self::Scrypt),
            "ARGON2ID" => return Some(Self::Argon2id),
            _ => {}
        }
        let (pbkdf2, hash) = match name.strip_prefix("PBKDF2/") {
            Some(hash) => (true, hash),
            None => (false, name),
        };
        match Hash::from_name(hash)? {
            Hash::Sha1 => None,
            hash if pbkdf2 => Some(Self::Pbkdf2(hash)),
            hash => Some(Self::Sha(hash)),
        }
    }

    /// Returns ALTCHA's spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha(hash) => hash.name(),
            Self::Pbkdf2(Hash::Sha384) => "PBKDF2/SHA-384",
            Self::Pbkdf2(Hash::Sha512) => "PBKDF2/SHA-512",
            Self::Pbkdf2(_) => "PBKDF2/SHA-256",
            Self::Scrypt => "SCRYPT",
            Self::Argon2id => "ARGON2ID",
        }
    }

    /// Returns whether `memoryCost` and `parallelism` apply.
    pub fn is_memory_hard(self) -> bool {
        matches!(self, Self::Scrypt | Self::Argon2id)
    }

    /// Returns the nearest valid cost not below `cost`: scrypt's N is a power of two of at least 2 (RFC 7914, section
    /// 2), the others start at 1.
    pub fn possible_cost(self, cost: u32) -> u32 {
        match self {
            Self::Scrypt => cost.max(2).checked_next_power_of_two().unwrap_or(1 << 31),
            _ => cost.max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in [
            "SHA-256",
            "SHA-384",
            "SHA-512",
            "PBKDF2/SHA-256",
            "PBKDF2/SHA-384",
            "PBKDF2/SHA-512",
            "SCRYPT",
            "ARGON2ID",
        ] {
            assert_eq!(Algorithm::from_name(name).map(Algorithm::name), Some(name));
        }
        for name in ["SHA-1", "PBKDF2/SHA-1", "sha-256", "PBKDF2", "argon2id", "", "PBKDF2/SCRYPT"] {
            assert_eq!(Algorithm::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn scrypt_costs_are_powers_of_two() {
        let costs = [(0, 2), (1, 2), (2, 2), (3, 4), (4096, 4096), (4097, 8192), (u32::MAX, 1 << 31)];
        for (asked, possible) in costs {
            assert_eq!(Algorithm::Scrypt.possible_cost(asked), possible);
        }
        assert_eq!(Algorithm::Argon2id.possible_cost(0), 1);
        assert_eq!(Algorithm::Sha(Hash::Sha256).possible_cost(1000), 1000);
    }
}
