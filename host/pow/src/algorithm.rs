//! The proof-of-work algorithms and their names on the wire.

/// A proof-of-work algorithm of ALTCHA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum PowAlgorithm {
    Sha256,
    Sha384,
    Sha512,
    Pbkdf2Sha256,
    Pbkdf2Sha384,
    Pbkdf2Sha512,
    Scrypt,
    Argon2id,
}

impl PowAlgorithm {
    /// Every algorithm with its name on the wire.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("SHA-256", Self::Sha256),
        ("SHA-384", Self::Sha384),
        ("SHA-512", Self::Sha512),
        ("PBKDF2/SHA-256", Self::Pbkdf2Sha256),
        ("PBKDF2/SHA-384", Self::Pbkdf2Sha384),
        ("PBKDF2/SHA-512", Self::Pbkdf2Sha512),
        ("SCRYPT", Self::Scrypt),
        ("ARGON2ID", Self::Argon2id),
    ];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(_, algorithm)| *algorithm == self).map_or("", |(name, _)| name)
    }
}
