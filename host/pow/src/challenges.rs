//! Random challenges with known solutions, and the pool of those that idle threads mint in advance.

use std::collections::HashMap;

use super::kdf::{KdfParameters, ParameterError};

/// Most challenges in one bucket: a burst of this size costs signatures only.
const BUCKET_CAPACITY: usize = 256;
/// Challenges minted in advance for each call, up to [`BUCKET_CAPACITY`]. No call is charged for this work, so one call
/// of a component must not cause much of it.
const MINTED_PER_CALL: usize = 2;
/// Most buckets. When there are so many, challenges of any other specification are minted on demand.
const MAX_BUCKETS: usize = 32;
/// Length of a nonce and of a salt, bytes.
const RANDOM_BYTES: usize = 16;
/// Highest counter.
const COUNTER_MAX: u64 = 1 << 16;

/// Specifies a challenge. Challenges of one specification are interchangeable: they depend on neither site nor client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChallengeSpec {
    /// The parameters of the derivation.
    pub parameters: KdfParameters,
    /// The counter is a random number from 1 to this.
    pub counter_max: u32,
}

/// A random challenge whose solution is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MintedChallenge {
    /// A nonce of 16 random bytes.
    pub nonce: Vec<u8>,
    /// A salt of 16 random bytes.
    pub salt: Vec<u8>,
    /// The solution.
    pub counter: u32,
    /// The key for `nonce || uint32-big-endian(counter)`.
    pub derived_key: Vec<u8>,
}

impl ChallengeSpec {
    /// Checks all caps.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        if self.counter_max == 0 || u64::from(self.counter_max) > COUNTER_MAX {
            let value = self.counter_max.into();
            return Err(ParameterError::Range { name: "counter-max", range: "1 to 65536", value });
        }
        self.parameters.check_cost()
    }

    /// Mints a challenge on the calling thread.
    pub(super) fn mint(&self) -> Result<MintedChallenge, ParameterError> {
        let random = |bytes: &mut [u8]| {
            getrandom::fill(bytes)
                .map_err(|error| ParameterError::Unsupported(format!("no random bytes: {error}")))
        };
        let (mut nonce, mut salt, mut draw) = (vec![0; RANDOM_BYTES], vec![0; RANDOM_BYTES], [0; 8]);
        random(&mut nonce)?;
        random(&mut salt)?;
        random(&mut draw)?;
        // 64 random bits over at most 65536 values: the bias is under 2^-48.
        let counter = u64::from_le_bytes(draw).checked_rem(self.counter_max.into()).unwrap_or(0) as u32 + 1;
        let password = [nonce.as_slice(), &counter.to_be_bytes()].concat();
        let derived_key = self.parameters.derive(&password, &salt)?;
        Ok(MintedChallenge { nonce, salt, counter, derived_key })
    }
}

/// The challenges that idle threads mint in advance, one bucket per specification.
#[derive(Default)]
pub(super) struct ChallengePool {
    buckets: HashMap<ChallengeSpec, Bucket>,
}

/// The challenges of one specification.
#[derive(Default)]
struct Bucket {
    ready: Vec<MintedChallenge>,
    /// Challenges that threads are minting now.
    in_progress: usize,
    /// Calls that asked for a challenge.
    calls: usize,
}

impl Bucket {
    /// Returns how many challenges are ready or in progress.
    fn len(&self) -> usize {
        self.ready.len() + self.in_progress
    }

    fn has_room(&self) -> bool {
        self.len() < BUCKET_CAPACITY.min(self.calls.saturating_mul(MINTED_PER_CALL))
    }
}

impl ChallengePool {
    /// Takes a challenge that is ready, and keeps minting its specification in advance.
    pub(super) fn take(&mut self, spec: ChallengeSpec) -> Option<MintedChallenge> {
        if self.buckets.len() >= MAX_BUCKETS && !self.buckets.contains_key(&spec) {
            return None;
        }
        let bucket = self.buckets.entry(spec).or_default();
        bucket.calls = bucket.calls.saturating_add(1);
        bucket.ready.pop()
    }

    /// Returns the specification of the emptiest bucket that has room; the caller mints a challenge and passes it to
    /// [`Self::add`].
    pub(super) fn next_to_mint(&mut self) -> Option<ChallengeSpec> {
        let with_room = self.buckets.iter_mut().filter(|(_, bucket)| bucket.has_room());
        let (spec, bucket) = with_room.min_by_key(|(_, bucket)| bucket.len())?;
        bucket.in_progress += 1;
        Some(*spec)
    }

    /// Adds a challenge that [`Self::next_to_mint`] asked for. A specification that cannot be minted loses its bucket.
    pub(super) fn add(&mut self, spec: ChallengeSpec, challenge: Option<MintedChallenge>) {
        let Some(challenge) = challenge else {
            self.buckets.remove(&spec);
            return;
        };
        if let Some(bucket) = self.buckets.get_mut(&spec) {
            bucket.in_progress = bucket.in_progress.saturating_sub(1);
            bucket.ready.push(challenge);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PowAlgorithm;

    fn spec(cost: u32) -> ChallengeSpec {
        let parameters = KdfParameters {
            algorithm: PowAlgorithm::Pbkdf2Sha256,
            cost,
            memory_cost: 0,
            parallelism: 0,
            key_length: 16,
        };
        ChallengeSpec { parameters, counter_max: 10 }
    }

    fn challenge() -> MintedChallenge {
        MintedChallenge { nonce: vec![1], salt: vec![2], counter: 3, derived_key: vec![4] }
    }

    /// Fills every bucket and returns how many challenges that took.
    fn fill(pool: &mut ChallengePool) -> usize {
        let filling = std::iter::from_fn(|| {
            let spec = pool.next_to_mint()?;
            pool.add(spec, Some(challenge()));
            Some(())
        });
        filling.count()
    }

    #[test]
    fn one_call_mints_little_in_advance() {
        let mut pool = ChallengePool::default();
        assert_eq!(fill(&mut pool), 0, "nothing is minted before the first call");
        assert_eq!(pool.take(spec(1)), None);
        assert_eq!(fill(&mut pool), MINTED_PER_CALL);
        assert_eq!(pool.take(spec(1)), Some(challenge()));
        assert_eq!(fill(&mut pool), MINTED_PER_CALL + 1);
    }

    #[test]
    fn bucket_is_bounded_after_many_calls() {
        let mut pool = ChallengePool::default();
        (0..10 * BUCKET_CAPACITY).for_each(|_| drop(pool.take(spec(1))));
        assert_eq!(fill(&mut pool), BUCKET_CAPACITY);
    }

    #[test]
    fn challenges_in_progress_count_towards_the_limit() {
        let mut pool = ChallengePool::default();
        pool.take(spec(1));
        let in_progress = std::iter::from_fn(|| pool.next_to_mint()).count();
        assert_eq!(in_progress, MINTED_PER_CALL);
    }

    #[test]
    fn buckets_are_bounded() {
        let mut pool = ChallengePool::default();
        for cost in 1..=1000 {
            assert_eq!(pool.take(spec(cost)), None);
        }
        assert_eq!(pool.buckets.len(), MAX_BUCKETS);
        assert_eq!(fill(&mut pool), MAX_BUCKETS * MINTED_PER_CALL);
        assert_eq!(pool.take(spec(1)), Some(challenge()), "the first ones stay");
    }

    #[test]
    fn emptiest_bucket_is_filled_first() {
        let mut pool = ChallengePool::default();
        (0..4).for_each(|_| drop(pool.take(spec(1))));
        fill(&mut pool);
        pool.take(spec(2));
        pool.take(spec(1));
        assert_eq!(pool.next_to_mint(), Some(spec(2)));
    }

    #[test]
    fn failed_specification_loses_its_bucket() {
        let mut pool = ChallengePool::default();
        pool.take(spec(1));
        let next = pool.next_to_mint();
        assert_eq!(next, Some(spec(1)));
        pool.add(spec(1), None);
        assert_eq!(pool.next_to_mint(), None);
        pool.add(spec(1), Some(challenge()));
        assert!(pool.buckets.is_empty(), "a challenge that was in progress is dropped");
    }

    #[test]
    fn counters_are_drawn_from_one_to_maximum() {
        let spec = ChallengeSpec { counter_max: 4, ..spec(1) };
        let mut drawn = [false; 4];
        // One of four is missing after so many draws less often than once in 10^49 runs.
        for _ in 0..400 {
            let counter = spec.mint().map(|challenge| challenge.counter).unwrap_or_default() as usize;
            *drawn.get_mut(counter.wrapping_sub(1)).unwrap_or_else(|| unreachable!("{counter}")) = true;
        }
        assert_eq!(drawn, [true; 4]);
    }

    #[test]
    fn counter_maximum_is_capped() {
        for (counter_max, fits) in [(0, false), (1, true), (1 << 16, true), ((1 << 16) + 1, false)] {
            assert_eq!(ChallengeSpec { counter_max, ..spec(1) }.check().is_ok(), fits, "{counter_max}");
        }
    }
}
