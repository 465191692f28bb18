//! Tokens a second. How many a call has is known when it is done, so a call may overdraw the budget, and the next
//! ones wait until that is made good.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// A bucket that holds one second's tokens.
#[derive(Debug)]
pub(super) struct TokenBudget {
    per_second: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    left: f64,
    since: Instant,
}

impl TokenBudget {
    pub(super) fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self { per_second, state: Mutex::new(State { left: per_second, since: Instant::now() }) }
    }

    /// Whether another call may begin; else in how many seconds one may.
    pub(super) fn admit(&self) -> Result<(), u32> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> Result<(), u32> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let gained = now.saturating_duration_since(state.since).as_secs_f64() * self.per_second;
        state.left = (state.left + gained).min(self.per_second);
        state.since = now;
        if state.left > 0.0 {
            return Ok(());
        }
        // A float cast saturates; there is always a second to wait.
        Err(((-state.left / self.per_second).ceil() as u32).max(1))
    }

    /// Takes what a call has used.
    pub(super) fn spend(&self, tokens: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left -= tokens as f64;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_overdraft_is_made_good_first() {
        let (budget, start) = (TokenBudget::new(100), Instant::now());
        assert_eq!(budget.admit_at(start), Ok(()));
        budget.spend(350);
        assert_eq!(budget.admit_at(start), Err(3));
        assert_eq!(budget.admit_at(start + Duration::from_secs(2)), Err(1));
        assert_eq!(budget.admit_at(start + Duration::from_secs(3)), Ok(()));
    }

    #[test]
    fn what_is_not_used_does_not_add_up() {
        let (budget, start) = (TokenBudget::new(100), Instant::now());
        assert_eq!(budget.admit_at(start + Duration::from_secs(3600)), Ok(()));
        budget.spend(150);
        assert_eq!(budget.admit_at(start + Duration::from_secs(3600)), Err(1));
    }
}
