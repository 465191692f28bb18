//! A token bucket of inference tokens per second. A call takes an estimate of its tokens when it begins and is settled when
//! it has ended. It may overdraw the bucket; later calls wait until it has refilled.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// A bucket that holds one second's tokens.
#[derive(Debug)]
pub struct TokenBucket {
    per_second: u32,
    state: Mutex<BucketState>,
}

#[derive(Debug)]
struct BucketState {
    left: f64,
    refilled_at: Instant,
}

impl TokenBucket {
    /// Creates a full bucket.
    pub fn new(per_second: u32) -> Self {
        let state = BucketState { left: f64::from(per_second), refilled_at: Instant::now() };
        Self { per_second, state: Mutex::new(state) }
    }

    /// Returns the tokens that it gains in a second.
    pub const fn per_second(&self) -> u32 {
        self.per_second
    }

    /// Takes about so many tokens for a call that begins, if any are left.
    ///
    /// # Errors
    /// The seconds until one may begin.
    pub fn reserve(&self, tokens: usize) -> Result<(), u32> {
        self.reserve_at(Instant::now(), tokens)
    }

    fn reserve_at(&self, now: Instant, tokens: usize) -> Result<(), u32> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let per_second = f64::from(self.per_second);
        let gained = now.saturating_duration_since(state.refilled_at).as_secs_f64() * per_second;
        state.left = (state.left + gained).min(per_second);
        state.refilled_at = now;
        if state.left > 0.0 {
            state.left -= tokens as f64;
            return Ok(());
        }
        // The float cast saturates; the wait is a second at least.
        Err(((-state.left / per_second).ceil() as u32).max(1))
    }

    /// Takes the tokens that an ended call has used in place of those that were reserved for it.
    pub fn settle(&self, reserved: usize, used: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left = (state.left + reserved as f64 - used as f64).min(f64::from(self.per_second));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn overdraft_delays_later_calls() {
        let (bucket, start) = (TokenBucket::new(100), Instant::now());
        assert_eq!(bucket.reserve_at(start, 350), Ok(()));
        assert_eq!(bucket.reserve_at(start, 1), Err(3));
        assert_eq!(bucket.reserve_at(start + Duration::from_secs(2), 1), Err(1));
        assert_eq!(bucket.reserve_at(start + Duration::from_secs(3), 1), Ok(()));
    }

    #[test]
    fn unused_tokens_do_not_accumulate() {
        let (bucket, later) = (TokenBucket::new(100), Instant::now() + Duration::from_secs(3600));
        assert_eq!(bucket.reserve_at(later, 0), Ok(()));
        bucket.settle(1000, 150);
        assert_eq!(bucket.reserve_at(later, 150), Ok(()));
        assert_eq!(bucket.reserve_at(later, 1), Err(1));
    }

    #[test]
    fn running_call_holds_its_estimate() {
        let (bucket, later) = (TokenBucket::new(100), Instant::now() + Duration::from_secs(1));
        assert_eq!(bucket.reserve_at(later, 120), Ok(()));
        assert_eq!(bucket.reserve_at(later, 1), Err(1), "the first call runs");
        bucket.settle(120, 20);
        assert_eq!(bucket.reserve_at(later, 1), Ok(()), "it used less");
        bucket.settle(1, 500);
        assert_eq!(bucket.reserve_at(later, 1), Err(5), "the second used more");
    }
}
