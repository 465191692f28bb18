//! The [`Host`] trait implemented with the world's imports.

use std::time::Duration;

use super::LOG;
use super::bindings::bulkhead::captcha::{ledger, pow};
use super::bindings::bulkhead::host::keys;
use super::bindings::wasi::clocks::wall_clock;
use super::bindings::wasi::random::random;
use crate::algorithm::{Algorithm, Hash};
use crate::error::Error;
use crate::host::{Host, Load, Minted, Signature, Visits, Work};

/// Retry interval while the ledger's storage does not answer, seconds.
const LEDGER_RETRY_SECONDS: u32 = 5;

/// The world's imports.
pub struct Imports;

impl Host for Imports {
    fn now(&self) -> Duration {
        let now = wall_clock::now();
        Duration::new(now.seconds, now.nanoseconds)
    }

    fn random(&self, length: usize) -> Vec<u8> {
        random::get_random_bytes(length as u64)
    }

    fn sign(&self, key: &str, hash: Hash, data: &[u8]) -> Result<Signature, Error> {
        let keys::Signature { key_id, tag } = keys::hmac_sign(key, key_hash(hash)?, data)?;
        Ok(Signature { key_id, tag })
    }

    fn is_signed(
        &self,
        key: &str,
        key_id: Option<&str>,
        hash: Hash,
        data: &[u8],
        tag: &[u8],
    ) -> Result<bool, Error> {
        Ok(keys::hmac_verify(key, key_id, key_hash(hash)?, data, tag)?)
    }

    fn derive(&self, work: &Work, password: &[u8], salt: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(pow::derive(parameters(work)?, password, salt)?)
    }

    fn mint(&self, work: &Work, counter_max: u32) -> Result<Minted, Error> {
        let minted = pow::mint(parameters(work)?, counter_max)?;
        let pow::Minted { nonce, salt, counter, derived_key } = minted;
        Ok(Minted { nonce, salt, counter, derived_key })
    }

    fn record_visit(&self, site: &str, client: &[String], allow_listed: bool) -> Result<Visits, Error> {
        let ledger::Visits { client, site } = ledger::record_visit(site, client, allow_listed)?;
        Ok(Visits { client, site })
    }

    fn load(&self, site: &str) -> Result<Load, Error> {
        let load = ledger::load(site)?;
        Ok(Load {
            issued_per_minute: load.issued_per_minute,
            failure_ratio: load.failure_ratio,
            solve_time_ms: load.solve_time_ms,
            solve_cost: load.solve_cost,
        })
    }

    fn spent(&self, id: &str) -> Result<u32, Error> {
        Ok(ledger::spent(id)?)
    }

    fn claim(&self, id: &str, expires_at: u64, limit: u32, all: bool) -> Result<bool, Error> {
        Ok(ledger::claim(id, expires_at, limit, all)?)
    }

    fn record_failure(&self, id: &str, expires_at: u64) -> Result<u32, Error> {
        Ok(ledger::record_failure(id, expires_at)?)
    }

    fn warn(&self, message: &str) {
        LOG.warn(message);
    }
}

fn key_hash(hash: Hash) -> Result<keys::Hash, Error> {
    match hash {
        Hash::Sha1 => Err(Error::Internal("the host has no HMAC over SHA-1".to_owned())),
        Hash::Sha256 => Ok(keys::Hash::Sha256),
        Hash::Sha384 => Ok(keys::Hash::Sha384),
        Hash::Sha512 => Ok(keys::Hash::Sha512),
    }
}

fn parameters(work: &Work) -> Result<pow::Parameters, Error> {
    let algorithm = match work.algorithm {
        Algorithm::Sha(Hash::Sha256) => pow::Algorithm::Sha256,
        Algorithm::Sha(Hash::Sha384) => pow::Algorithm::Sha384,
        Algorithm::Sha(Hash::Sha512) => pow::Algorithm::Sha512,
        Algorithm::Pbkdf2(Hash::Sha256) => pow::Algorithm::Pbkdf2Sha256,
        Algorithm::Pbkdf2(Hash::Sha384) => pow::Algorithm::Pbkdf2Sha384,
        Algorithm::Pbkdf2(Hash::Sha512) => pow::Algorithm::Pbkdf2Sha512,
        Algorithm::Sha(Hash::Sha1) | Algorithm::Pbkdf2(Hash::Sha1) => {
            return Err(Error::Internal("the host derives no keys with SHA-1".to_owned()));
        }
        Algorithm::Scrypt => pow::Algorithm::Scrypt,
        Algorithm::Argon2id => pow::Algorithm::Argon2id,
    };
    Ok(pow::Parameters {
        algorithm,
        cost: work.cost,
        memory_cost: work.memory_cost,
        parallelism: work.parallelism,
        key_length: work.key_length,
    })
}

impl From<keys::Error> for Error {
    fn from(error: keys::Error) -> Self {
        match error {
            keys::Error::UnknownKey(text) | keys::Error::Invalid(text) => Self::Internal(text),
        }
    }
}

impl From<pow::Error> for Error {
    fn from(error: pow::Error) -> Self {
        match error {
            pow::Error::Refused(text) => Self::Internal(text),
            pow::Error::Busy(seconds) => Self::Busy(seconds),
        }
    }
}

impl From<ledger::Error> for Error {
    fn from(error: ledger::Error) -> Self {
        match error {
            ledger::Error::Unavailable(_) => Self::Busy(LEDGER_RETRY_SECONDS),
            ledger::Error::Invalid(text) => Self::Internal(text),
        }
    }
}
