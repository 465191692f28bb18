//! How fast a browser may be: what no widget solves, and which reported solve times cannot be.

use std::time::Duration;

use bulkhead_pow::Algorithm;

use super::{Protocol, Site};

/// The widget gives up after this long.
pub(super) const WIDGET_TIMEOUT: Duration = Duration::from_secs(90);

/// Workers that the widget starts at most.
const WORKERS: f64 = 16.0;
/// Candidates that a probabilistic challenge takes on average: its key begins with one byte of zeros.
const PROBABILISTIC_CANDIDATES: f64 = 256.0;
/// SHA rounds a second in one worker: ten times what a browser's code does, Web Crypto being slower still.
const ROUNDS_PER_SECOND: f64 = 6e6;
/// PBKDF2 iterations a second in one worker: what native code does on one core, three times a browser.
const ITERATIONS_PER_SECOND: f64 = 8e6;
/// Bytes of SCRYPT and ARGON2ID memory that one worker fills a second, more than a core's share of the memory's speed.
const BYTES_PER_SECOND: f64 = 2e10;

impl Site {
    /// Whether published widgets get another key than the host: altcha up to 3.2 cuts SHA-384 and SHA-512 digests to
    /// the key's length after each round, not once at the end.
    pub(super) fn breaks_widgets(&self) -> bool {
        self.protocol == Protocol::V2
            && matches!(self.algorithm, Algorithm::Sha384 | Algorithm::Sha512)
            && self.greatest_cost().is_some_and(|cost| cost > 1)
    }

    /// The greatest cost that a challenge of the site may have.
    pub(super) fn greatest_cost(&self) -> Option<u32> {
        let auto = self.auto.map(|auto| auto.max_cost);
        self.difficulty_map.iter().map(|step| step.cost).chain(auto).max()
    }

    /// The time below which no browser solves challenges of this cost, on average over many.
    pub fn least_solve_time(&self, cost: u32) -> Duration {
        let cost = f64::from(cost);
        let worker_seconds = match self.protocol {
            // One number among as many as the cost.
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
            Algorithm::Sha256 | Algorithm::Sha384 | Algorithm::Sha512 => cost / ROUNDS_PER_SECOND,
            Algorithm::Pbkdf2Sha256 | Algorithm::Pbkdf2Sha384 | Algorithm::Pbkdf2Sha512 => {
                cost / ITERATIONS_PER_SECOND
            }
            // 128 * N * r bytes, written and read.
            Algorithm::Scrypt => 2.0 * 128.0 * cost * memory / BYTES_PER_SECOND,
            // KiB, in each pass.
            Algorithm::Argon2id => 1024.0 * cost * memory / BYTES_PER_SECOND,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds that real widgets took on two slow workers, by algorithm and cost: none of them is implausible.
    #[test]
    fn measured_times_are_plausible() {
        let compat = Site { algorithm: Algorithm::Sha256, deterministic: false, ..Site::default() };
        let argon2id = Site {
            algorithm: Algorithm::Argon2id,
            memory_cost: Some(8192),
            counter_max: 21,
            ..Site::default()
        };
        for (site, cost, measured) in
            [(&compat, 1000, 1800), (&Site::default(), 5000, 140), (&argon2id, 1, 300)]
        {
            let least = site.least_solve_time(cost);
            assert!(least < Duration::from_millis(measured) / 8, "{cost}: {least:?}");
        }
    }

    #[test]
    fn least_times_rise_with_the_cost() {
        let v1 = Site { protocol: Protocol::V1, algorithm: Algorithm::Sha256, ..Site::default() };
        let scrypt = Site { algorithm: Algorithm::Scrypt, memory_cost: Some(8), ..Site::default() };
        for site in [Site::default(), v1, scrypt] {
            let (one, thousand) = (site.least_solve_time(1 << 10), site.least_solve_time(1 << 20));
            assert!(one > Duration::ZERO && thousand > 1000 * one && thousand < 1050 * one, "{one:?}");
        }
        assert!(
            Site::default().least_solve_time(5000) > Duration::from_millis(1),
            "a millisecond is implausible"
        );
    }
}
