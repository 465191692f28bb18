//! Tokens a minute over all callers. A call sets aside what it may take and settles what it took.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// A bucket that holds one minute's tokens and fills steadily.
#[derive(Debug)]
pub(super) struct MinuteBudget {
    per_minute: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    left: f64,
    since: Instant,
}

/// Tokens set aside. Dropped unsettled, as when the caller leaves, all of them count as taken.
#[derive(Debug)]
pub(super) struct Reserved<'a> {
    budget: &'a MinuteBudget,
    tokens: u64,
}

impl MinuteBudget {
    pub(super) fn new(per_minute: u32) -> Self {
        let per_minute = f64::from(per_minute);
        Self { per_minute, state: Mutex::new(State { left: per_minute, since: Instant::now() }) }
    }

    /// Sets `tokens` aside; else says when as many will be there.
    pub(super) fn reserve(&self, tokens: u64) -> Result<Reserved<'_>, String> {
        self.reserve_at(tokens, Instant::now())
    }

    fn reserve_at(&self, tokens: u64, now: Instant) -> Result<Reserved<'_>, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let gained = now.saturating_duration_since(state.since).as_secs_f64() / 60.0 * self.per_minute;
        state.left = (state.left + gained).min(self.per_minute);
        state.since = now;
        if tokens as f64 > state.left {
            let most = self.per_minute;
            return Err(format!(
                "tickets.llm.tokens_per_minute allows {most} tokens, and {tokens} are not left"
            ));
        }
        state.left -= tokens as f64;
        Ok(Reserved { budget: self, tokens })
    }
}

impl Reserved<'_> {
    /// Gives back what was not taken, or takes what was taken beyond; unknown counts as all of it.
    pub(super) fn settle(self, taken: Option<u64>) {
        let Some(taken) = taken else { return };
        let mut state = self.budget.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left = (state.left + self.tokens as f64 - taken as f64).min(self.budget.per_minute);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_at_once_cannot_overdraw_it_together() {
        let (budget, start) = (MinuteBudget::new(600), Instant::now());
        let first = budget.reserve_at(400, start).unwrap();
        let refused = budget.reserve_at(300, start).unwrap_err();
        assert_eq!(refused, "tickets.llm.tokens_per_minute allows 600 tokens, and 300 are not left");
        first.settle(Some(100));
        budget.reserve_at(500, start).unwrap().settle(Some(700));
        // 200 over: made good at ten tokens a second.
        assert!(budget.reserve_at(1, start + Duration::from_secs(20)).is_err());
        assert!(budget.reserve_at(1, start + Duration::from_secs(21)).is_ok());
    }

    #[test]
    fn what_nobody_settles_is_taken() {
        let (budget, start) = (MinuteBudget::new(600), Instant::now());
        budget.reserve_at(400, start).unwrap();
        budget.reserve_at(200, start).unwrap().settle(None);
        assert!(budget.reserve_at(1, start).is_err());
        assert!(budget.reserve_at(600, start + Duration::from_secs(60)).is_ok(), "no more than a minute's");
    }
}
