//! One derivation of a proof-of-work key: its parameters, their caps and the computation.

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256, Sha384, Sha512};

use super::algorithm::PowAlgorithm;

/// Longest password and salt, bytes; ALTCHA's are 20 and 16.
const INPUT_BYTES: usize = 1024;
/// Longest key, bytes.
const KEY_BYTES: u32 = 64;
/// Most SHA rounds or PBKDF2 iterations: about a second of one core.
const ITERATIONS: u32 = 10_000_000;
/// Most SHA rounds that take less time than passing them to another thread and their result back.
const QUICK_ROUNDS: u32 = 128;
/// Most Argon2id passes.
const PASSES: u32 = 64;
/// Most memory of one derivation, KiB.
const MEMORY_KIB: u64 = 64 << 10;
/// Most lanes.
const PARALLELISM: u32 = 4;

/// Why a derivation cannot run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// A parameter is outside its range.
    #[error("{name} must be {range}, not {value}")]
    Range {
        /// The name of the parameter.
        name: &'static str,
        /// The accepted values.
        range: &'static str,
        /// The value that was given.
        value: u64,
    },
    /// The algorithm does not accept this combination.
    #[error("these parameters do not fit the algorithm: {0}")]
    Unsupported(String),
}

/// The parameters of one derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KdfParameters {
    /// The function to compute.
    pub algorithm: PowAlgorithm,
    /// SHA: rounds; PBKDF2: iterations; scrypt: N; Argon2id: passes.
    pub cost: u32,
    /// Argon2id: KiB; scrypt: block size r; otherwise ignored.
    pub memory_cost: u32,
    /// Argon2id and scrypt: lanes; otherwise ignored.
    pub parallelism: u32,
    /// Length of the derived key, bytes.
    pub key_length: u32,
}

/// Checks that `value` is at least `low` and at most `high`.
fn within(
    name: &'static str,
    value: u64,
    low: u64,
    high: u64,
    range: &'static str,
) -> Result<(), ParameterError> {
    if (low..=high).contains(&value) { Ok(()) } else { Err(ParameterError::Range { name, range, value }) }
}

impl KdfParameters {
    /// Checks all caps, before anything is queued.
    pub(super) fn check(&self, password: &[u8], salt: &[u8]) -> Result<(), ParameterError> {
        within("password length", password.len() as u64, 1, INPUT_BYTES as u64, "1 to 1024 bytes")?;
        within("salt length", salt.len() as u64, 0, INPUT_BYTES as u64, "0 to 1024 bytes")?;
        self.check_cost()
    }

    /// Checks the caps that do not depend on the password and salt.
    pub(super) fn check_cost(&self) -> Result<(), ParameterError> {
        within("key length", self.key_length.into(), 1, KEY_BYTES.into(), "1 to 64 bytes")?;
        match self.algorithm {
            PowAlgorithm::Scrypt => {
                within("cost", self.cost.into(), 2, u32::MAX.into(), "a power of two of at least 2")?;
                if !self.cost.is_power_of_two() {
                    return Err(ParameterError::Range {
                        name: "cost",
                        range: "a power of two",
                        value: self.cost.into(),
                    });
                }
                within("memory cost", self.memory_cost.into(), 1, 1024, "1 to 1024 blocks")?;
                within("parallelism", self.parallelism.into(), 1, PARALLELISM.into(), "1 to 4")?;
                let kib = u64::from(self.cost).saturating_mul(self.memory_cost.into()) / 8;
                within(
                    "memory",
                    kib.saturating_mul(self.parallelism.into()),
                    0,
                    MEMORY_KIB,
                    "at most 65536 KiB",
                )
            }
            PowAlgorithm::Argon2id => {
                within("cost", self.cost.into(), 1, PASSES.into(), "1 to 64 passes")?;
                within("memory cost", self.memory_cost.into(), 8, MEMORY_KIB, "8 to 65536 KiB")?;
                within("parallelism", self.parallelism.into(), 1, PARALLELISM.into(), "1 to 4")
            }
            _ => within("cost", self.cost.into(), 1, ITERATIONS.into(), "1 to 10000000"),
        }
    }

    /// Returns whether the derivation is over so soon that it needs no thread of its own.
    pub(super) const fn is_quick(&self) -> bool {
        let is_sha =
            matches!(self.algorithm, PowAlgorithm::Sha256 | PowAlgorithm::Sha384 | PowAlgorithm::Sha512);
        is_sha && self.cost <= QUICK_ROUNDS
    }

    /// Derives the key on the calling thread.
    pub(super) fn derive(&self, password: &[u8], salt: &[u8]) -> Result<Vec<u8>, ParameterError> {
        let unsupported = |error: &dyn std::fmt::Display| ParameterError::Unsupported(error.to_string());
        let length = self.key_length as usize;
        let mut key = vec![0; length];
        match self.algorithm {
            PowAlgorithm::Sha256 => return Ok(self.rounds::<Sha256>(password, salt)),
            PowAlgorithm::Sha384 => return Ok(self.rounds::<Sha384>(password, salt)),
            PowAlgorithm::Sha512 => return Ok(self.rounds::<Sha512>(password, salt)),
            PowAlgorithm::Pbkdf2Sha256 => pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, self.cost, &mut key),
            PowAlgorithm::Pbkdf2Sha384 => pbkdf2::pbkdf2_hmac::<Sha384>(password, salt, self.cost, &mut key),
            PowAlgorithm::Pbkdf2Sha512 => pbkdf2::pbkdf2_hmac::<Sha512>(password, salt, self.cost, &mut key),
            PowAlgorithm::Scrypt => {
                let log_n = u8::try_from(self.cost.trailing_zeros()).unwrap_or(u8::MAX);
                let parameters = scrypt::Params::new(log_n, self.memory_cost, self.parallelism)
                    .map_err(|error| unsupported(&error))?;
                scrypt::scrypt(password, salt, &parameters, &mut key).map_err(|error| unsupported(&error))?;
            }
            PowAlgorithm::Argon2id => {
                let parameters =
                    argon2::Params::new(self.memory_cost, self.cost, self.parallelism, Some(length))
                        .map_err(|error| unsupported(&error))?;
                argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, parameters)
                    .hash_password_into(password, salt, &mut key)
                    .map_err(|error| unsupported(&error))?;
            }
        }
        Ok(key)
    }

    /// Computes `H(salt || password)` and hashes the whole digest `cost - 1` times; cuts the result, or pads it with
    /// zeros, once at the end.
    fn rounds<D: Digest>(&self, password: &[u8], salt: &[u8]) -> Vec<u8> {
        let mut digest = D::new().chain_update(salt).chain_update(password).finalize();
        for _ in 1..self.cost {
            digest = D::digest(&digest);
        }
        let mut key = digest.to_vec();
        key.resize(self.key_length as usize, 0);
        key
    }
}
