//! How much work a challenge may ask for, so that judging one stays cheap too.

use bulkhead_pow::Algorithm;

use super::Protocol;

/// SHA rounds and PBKDF2 iterations: a second or so of one core.
const MOST_ROUNDS: u32 = 10_000_000;
/// scrypt and Argon2id memory, bytes; each derivation in flight takes it.
const MOST_MEMORY: u64 = 64 << 20;
/// Argon2id passes over that memory.
const MOST_PASSES: u32 = 64;
/// Lanes of scrypt and Argon2id.
pub(super) const MOST_LANES: u32 = 4;

/// A proof-of-work function with the parameters that do not vary by visit.
#[derive(Clone, Copy)]
pub(super) struct Work {
    pub(super) algorithm: Algorithm,
    pub(super) memory_cost: Option<u32>,
    pub(super) parallelism: Option<u32>,
}

impl Work {
    /// Whether memory and lanes are parameters of the function.
    pub(super) fn takes_memory(self) -> bool {
        matches!(self.algorithm, Algorithm::Scrypt | Algorithm::Argon2id)
    }

    /// Whether the function is a plain hash.
    pub(super) fn is_hash(self) -> bool {
        matches!(self.algorithm, Algorithm::Sha256 | Algorithm::Sha384 | Algorithm::Sha512)
    }

    /// What is wrong with this function under a protocol.
    pub(super) fn algorithm_fault(self, protocol: Protocol, compat: bool) -> Option<String> {
        if compat && self.algorithm != Algorithm::Sha256 {
            return Some("must be SHA-256 with compat = true; leave it out".to_owned());
        }
        (protocol == Protocol::V1 && !self.is_hash())
            .then(|| "must be SHA-256, SHA-384 or SHA-512 with protocol = \"v1\"".to_owned())
    }

    /// What is wrong with `memory_cost`.
    pub(super) fn memory_fault(self) -> Option<String> {
        let name = self.algorithm.as_str();
        match (self.takes_memory(), self.memory_cost) {
            (false, Some(_)) => Some(format!("has no effect with {name}; leave it out")),
            (true, None) => Some(format!("must be given with {name}")),
            (true, Some(memory)) if self.algorithm == Algorithm::Argon2id => {
                let least = 8 * self.parallelism.unwrap_or(1);
                let most = MOST_MEMORY / 1024;
                (memory < least || u64::from(memory) > most)
                    .then(|| format!("must be from {least} to {most} (KiB) with {name}"))
            }
            _ => None,
        }
    }

    /// What is wrong with `parallelism`.
    pub(super) fn lanes_fault(self) -> Option<String> {
        let idle = !self.takes_memory() && self.parallelism.is_some();
        idle.then(|| format!("has no effect with {}; leave it out", self.algorithm.as_str()))
    }

    /// What is wrong with a cost.
    pub(super) fn cost_fault(self, cost: u32) -> Option<String> {
        let most = match self.algorithm {
            Algorithm::Argon2id => MOST_PASSES,
            Algorithm::Scrypt => return self.scrypt_fault(cost),
            _ => MOST_ROUNDS,
        };
        let name = self.algorithm.as_str();
        (cost > most).then(|| format!("must be from 1 to {most} with {name}, not {cost}"))
    }

    fn scrypt_fault(self, cost: u32) -> Option<String> {
        if cost < 2 || !cost.is_power_of_two() {
            return Some(format!("must be a power of two with SCRYPT, not {cost}"));
        }
        let memory = 128 * u64::from(cost) * u64::from(self.memory_cost.unwrap_or(1));
        (memory > MOST_MEMORY)
            .then(|| format!("takes {memory} bytes (128 * cost * memory_cost); {MOST_MEMORY} is the most"))
    }
}
