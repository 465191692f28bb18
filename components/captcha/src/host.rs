//! The host functions that the captcha logic needs, as a trait for native tests.

use std::time::Duration;

use crate::algorithm::{Algorithm, Hash};
use crate::error::Error;

/// A message authentication code and the id of the key that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Id of the host's key.
    pub key_id: String,
    /// The HMAC, as long as the hash's digest.
    pub tag: Vec<u8>,
}

/// The cost of one key derivation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// The derivation function.
    pub algorithm: Algorithm,
    /// SHA: rounds. PBKDF2: iterations. scrypt: N. Argon2id: passes.
    pub cost: u32,
    /// Argon2id: KiB. scrypt: block size r. Others: 0.
    pub memory_cost: u32,
    /// Argon2id and scrypt: p.
    pub parallelism: u32,
    /// Bytes.
    pub key_length: u32,
}

/// Most SHA rounds that are less work than a look into the ledger.
const QUICK_ROUNDS: u32 = 128;

impl Work {
    /// Returns whether a derivation is less work than a look into the ledger.
    pub fn is_quick(&self) -> bool {
        matches!(self.algorithm, Algorithm::Sha(_)) && self.cost <= QUICK_ROUNDS
    }
}

/// A fresh random challenge whose answer is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minted {
    /// 16 random bytes.
    pub nonce: Vec<u8>,
    /// 16 random bytes.
    pub salt: Vec<u8>,
    /// The counter that leads to `derived_key`.
    pub counter: u32,
    /// The key for `nonce || uint32-big-endian(counter)`.
    pub derived_key: Vec<u8>,
}

/// Visits counted before the one that is being recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Visits {
    /// By the same client at any site, inside the window.
    pub client: u64,
    /// By anyone at this site, inside the window.
    pub site: u64,
}

/// Recent figures of one site.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Challenges issued a minute.
    pub issued_per_minute: f64,
    /// Share of clients whose last verification failed, 0 to 1.
    pub failure_ratio: f64,
    /// Median of the solve times that clients reported, milliseconds.
    pub solve_time_ms: Option<f64>,
    /// Median cost of the challenges those times belong to.
    pub solve_cost: Option<f64>,
}

/// Secrets, derivations, memory and clock, all kept by the host.
pub trait Host {
    /// Returns the time since the Unix epoch.
    fn now(&self) -> Duration;

    /// Returns `length` random bytes from the host's secure generator.
    fn random(&self, length: usize) -> Vec<u8>;

    /// Returns the HMAC of `data` under the current key called `key`.
    fn sign(&self, key: &str, hash: Hash, data: &[u8]) -> Result<Signature, Error>;

    /// Returns whether `tag` is the HMAC of `data` under an accepted key called `key`: the one with `key_id` if
    /// given, else any. False for an id that is not accepted.
    fn is_signed(
        &self,
        key: &str,
        key_id: Option<&str>,
        hash: Hash,
        data: &[u8],
        tag: &[u8],
    ) -> Result<bool, Error>;

    /// Derives the key for `password` and `salt`.
    fn derive(&self, work: &Work, password: &[u8], salt: &[u8]) -> Result<Vec<u8>, Error>;

    /// Draws a challenge with a counter from 1 to `counter_max` and derives its key.
    fn mint(&self, work: &Work, counter_max: u32) -> Result<Minted, Error>;

    /// Records one visit of the client with these opaque keys (the newest first).
    fn record_visit(&self, site: &str, client: &[String], allow_listed: bool) -> Result<Visits, Error>;

    /// Returns recent figures of the site.
    fn load(&self, site: &str) -> Result<Load, Error>;

    /// Returns how often the challenge `id` has been spent.
    fn spent(&self, id: &str) -> Result<u32, Error>;

    /// Spends `id` once, or all that is left of `limit`; returns whether anything was left. Remembered until
    /// `expires_at`, Unix seconds.
    fn claim(&self, id: &str, expires_at: u64, limit: u32, all: bool) -> Result<bool, Error>;

    /// Counts one failed attempt at `id` and returns the total.
    fn record_failure(&self, id: &str, expires_at: u64) -> Result<u32, Error>;

    /// Logs a warning. `message` holds nothing that a client sent.
    fn warn(&self, message: &str);
}
