//! A token bucket of inference tokens per second. The number of a call's tokens is known only afterwards, so a call may
//! overdraw the bucket; later calls wait until it has refilled.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// A bucket that holds one second's tokens.
#[derive(Debug)]
pub struct TokenBucket {
    per_second: f64,
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
        let per_second = f64::from(per_second);
        Self { per_second, state: Mutex::new(BucketState { left: per_second, refilled_at: Instant::now() }) }
    }

    /// Checks whether a call may begin.
    ///
    /// # Errors
    /// The seconds until one may.
    pub fn admit(&self) -> Result<(), u32> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> Result<(), u32> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let gained = now.saturating_duration_since(state.refilled_at).as_secs_f64() * self.per_second;
        state.left = (state.left + gained).min(self.per_second);
        state.refilled_at = now;
        if state.left > 0.0 {
            return Ok(());
        }
        // The float cast saturates; the wait is a second at least.
        Err(((-state.left / self.per_second).ceil() as u32).max(1))
    }

    /// Takes the tokens that a call has used.
    pub fn spend(&self, tokens: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left -= tokens as f64;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn overdraft_delays_later_calls() {
        let (bucket, start) = (TokenBucket::new(100), Instant::now());
        assert_eq!(bucket.admit_at(start), Ok(()));
        bucket.spend(350);
        assert_eq!(bucket.admit_at(start), Err(3));
        assert_eq!(bucket.admit_at(start + Duration::from_secs(2)), Err(1));
        assert_eq!(bucket.admit_at(start + Duration::from_secs(3)), Ok(()));
    }

    #[test]
    fn unused_tokens_do_not_accumulate() {
        let (bucket, start) = (TokenBucket::new(100), Instant::now());
        assert_eq!(bucket.admit_at(start + Duration::from_secs(3600)), Ok(()));
        bucket.spend(150);
        assert_eq!(bucket.admit_at(start + Duration::from_secs(3600)), Err(1));
    }
}
