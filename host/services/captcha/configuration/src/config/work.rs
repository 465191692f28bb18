//! Limits the work of challenges, so that verifying them stays cheap.

use bulkhead_pow::PowAlgorithm;

use super::Protocol;

/// Most SHA rounds and PBKDF2 iterations: about a second of one core.
const MAX_ROUNDS: u32 = 10_000_000;
/// Most memory of scrypt and Argon2id, bytes; each derivation in flight takes it.
const MAX_MEMORY: u64 = 64 << 20;
/// Most Argon2id passes over that memory.
const MAX_PASSES: u32 = 64;
/// Most lanes of scrypt and Argon2id.
pub(super) const MAX_LANES: u32 = 4;

/// A proof-of-work algorithm with the parameters that do not vary by visit.
#[derive(Clone, Copy)]
pub(super) struct WorkParameters {
    pub(super) algorithm: PowAlgorithm,
    pub(super) memory_cost: Option<u32>,
    pub(super) parallelism: Option<u32>,
}

impl WorkParameters {
    /// Checks whether memory and lanes are parameters of the algorithm.
    pub(super) fn takes_memory(self) -> bool {
        matches!(self.algorithm, PowAlgorithm::Scrypt | PowAlgorithm::Argon2id)
    }

    /// Checks whether the algorithm is a plain hash.
    pub(super) fn is_hash(self) -> bool {
        matches!(self.algorithm, PowAlgorithm::Sha256 | PowAlgorithm::Sha384 | PowAlgorithm::Sha512)
    }

    /// Returns the problem of this algorithm under a protocol.
    pub(super) fn algorithm_problem(self, protocol: Protocol, compat: bool) -> Option<String> {
        if compat && self.algorithm != PowAlgorithm::Sha256 {
            return Some("must be SHA-256 with compat = true; leave it out".to_owned());
        }
        (protocol == Protocol::V1 && !self.is_hash())
            .then(|| "must be SHA-256, SHA-384 or SHA-512 with protocol = \"v1\"".to_owned())
    }

    /// Returns the problem of `memory_cost`.
    pub(super) fn memory_problem(self) -> Option<String> {
        let name = self.algorithm.as_str();
        match (self.takes_memory(), self.memory_cost) {
            (false, Some(_)) => Some(format!("has no effect with {name}; leave it out")),
            (true, None) => Some(format!("must be given with {name}")),
            (true, Some(memory)) if self.algorithm == PowAlgorithm::Argon2id => {
                let least = 8 * self.parallelism.unwrap_or(1);
                let most = MAX_MEMORY / 1024;
                (memory < least || u64::from(memory) > most)
                    .then(|| format!("must be from {least} to {most} (KiB) with {name}"))
            }
            _ => None,
        }
    }

    /// Returns the problem of `parallelism`.
    pub(super) fn parallelism_problem(self) -> Option<String> {
        let is_unused = !self.takes_memory() && self.parallelism.is_some();
        is_unused.then(|| format!("has no effect with {}; leave it out", self.algorithm.as_str()))
    }

    /// Returns the problem of a cost.
    pub(super) fn cost_problem(self, cost: u32) -> Option<String> {
        let most = match self.algorithm {
            PowAlgorithm::Argon2id => MAX_PASSES,
            PowAlgorithm::Scrypt => return self.scrypt_problem(cost),
            _ => MAX_ROUNDS,
        };
        let name = self.algorithm.as_str();
        (cost > most).then(|| format!("must be from 1 to {most} with {name}, not {cost}"))
    }

    fn scrypt_problem(self, cost: u32) -> Option<String> {
        if cost < 2 || !cost.is_power_of_two() {
            return Some(format!("must be a power of two with SCRYPT, not {cost}"));
        }
        let memory = 128 * u64::from(cost) * u64::from(self.memory_cost.unwrap_or(1));
        (memory > MAX_MEMORY)
            .then(|| format!("takes {memory} bytes (128 * cost * memory_cost); {MAX_MEMORY} is the most"))
    }
}
