//! Estimates how fast browsers solve challenges: to warn about unsolvable ones, and to ignore implausible solve times.

use std::time::Duration;

use bulkhead_pow::PowAlgorithm;

use super::{Protocol, Site};

/// Time after which the widget gives up.
pub(super) const WIDGET_TIMEOUT: Duration = Duration::from_secs(90);

/// Most workers that the widget starts.
const WORKERS: f64 = 16.0;
/// Average number of candidates of a probabilistic challenge: its key begins with a zero byte.
const PROBABILISTIC_CANDIDATES: f64 = 256.0;
/// SHA rounds per second in one worker: ten times the speed of a browser's code; Web Crypto is slower still.
const ROUNDS_PER_SECOND: f64 = 6e6;
/// PBKDF2 iterations per second in one worker: the speed of native code on one core, three times that of a browser.
const ITERATIONS_PER_SECOND: f64 = 8e6;
/// Bytes of SCRYPT and ARGON2ID memory that one worker fills per second: more than a core's share of the memory
/// bandwidth.
const BYTES_PER_SECOND: f64 = 2e10;

impl Site {
    /// Checks whether published widgets derive another key than the host: altcha up to 3.2 cuts SHA-384 and SHA-512
    /// digests to the key's length after each round, not once at the end.
    pub(super) fn breaks_widgets(&self) -> bool {
        self.protocol == Protocol::V2
            && matches!(self.algorithm, PowAlgorithm::Sha384 | PowAlgorithm::Sha512)
            && self.greatest_cost().is_some_and(|cost| cost > 1)
    }

    /// Returns the greatest cost of the site's challenges.
    pub(super) fn greatest_cost(&self) -> Option<u32> {
        let auto = self.auto.map(|auto| auto.max_cost);
        self.difficulty_map.iter().map(|step| step.cost).chain(auto).max()
    }

    /// Returns the shortest time in which a browser solves challenges of this cost, on average over many.
    pub fn min_solve_time(&self, cost: u32) -> Duration {
        let cost = f64::from(cost);
        let worker_seconds = match self.protocol {
            // The number is one of as many as the cost.
            Protocol::V1 => cost / 2.0 / ROUNDS_PER_SECOND,
            Protocol::V2 => self.candidates() * self.candidate_seconds(cost),
        };
        Duration::try_from_secs_f64(worker_seconds / WORKERS).unwrap_or(Duration::MAX)
    }

    fn candidates(&self) -> f64 {
        match self.deterministic {
            true => f64::from(self.counter_max).midpoint(1.0),
            false => PROBABILISTIC_CANDIDATES,
        }
    }

    fn candidate_seconds(&self, cost: f64) -> f64 {
        let memory = f64::from(self.memory_cost.unwrap_or(1));
        match self.algorithm {
            PowAlgorithm::Sha256 | PowAlgorithm::Sha384 | PowAlgorithm::Sha512 => cost / ROUNDS_PER_SECOND,
            PowAlgorithm::Pbkdf2Sha256 | PowAlgorithm::Pbkdf2Sha384 | PowAlgorithm::Pbkdf2Sha512 => {
                cost / ITERATIONS_PER_SECOND
            }
            // 128 * N * r bytes, written and read.
            PowAlgorithm::Scrypt => 2.0 * 128.0 * cost * memory / BYTES_PER_SECOND,
            // KiB, in each pass.
            PowAlgorithm::Argon2id => 1024.0 * cost * memory / BYTES_PER_SECOND,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds that real widgets took on two slow workers, by algorithm and cost.
    #[test]
    fn measured_times_are_plausible() {
        let compat = Site { algorithm: PowAlgorithm::Sha256, deterministic: false, ..Site::default() };
        let argon2id = Site {
            algorithm: PowAlgorithm::Argon2id,
            memory_cost: Some(8192),
            counter_max: 21,
            ..Site::default()
        };
        for (site, cost, measured) in
            [(&compat, 1000, 1800), (&Site::default(), 5000, 140), (&argon2id, 1, 300)]
        {
            let least = site.min_solve_time(cost);
            assert!(least < Duration::from_millis(measured) / 8, "{cost}: {least:?}");
        }
    }

    #[test]
    fn shortest_times_rise_with_cost() {
        let v1 = Site { protocol: Protocol::V1, algorithm: PowAlgorithm::Sha256, ..Site::default() };
        let scrypt = Site { algorithm: PowAlgorithm::Scrypt, memory_cost: Some(8), ..Site::default() };
        for site in [Site::default(), v1, scrypt] {
            let (one, thousand) = (site.min_solve_time(1 << 10), site.min_solve_time(1 << 20));
            assert!(one > Duration::ZERO && thousand > 1000 * one && thousand < 1050 * one, "{one:?}");
        }
        assert!(
            Site::default().min_solve_time(5000) > Duration::from_millis(1),
            "a millisecond is implausible"
        );
    }
}
