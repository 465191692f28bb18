//! The budget of tokens per minute of all callers. A call reserves the tokens that it may use, and settles those that it used.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// A token bucket with the tokens of a minute.
#[derive(Debug)]
pub(super) struct TokenBudget {
    per_minute: f64,
    state: Mutex<BudgetState>,
}

#[derive(Debug)]
struct BudgetState {
    left: f64,
    refilled_at: Instant,
}

/// Reserved tokens. If they are dropped unsettled, as when the caller leaves, all of them count as used.
#[derive(Debug)]
pub(super) struct TokenReservation<'a> {
    budget: &'a TokenBudget,
    tokens: u64,
}

impl TokenBudget {
    pub(super) fn new(per_minute: u32) -> Self {
        let per_minute = f64::from(per_minute);
        Self { per_minute, state: Mutex::new(BudgetState { left: per_minute, refilled_at: Instant::now() }) }
    }

    /// Reserves `tokens`; else returns the error text.
    pub(super) fn reserve(&self, tokens: u64) -> Result<TokenReservation<'_>, String> {
        self.reserve_at(tokens, Instant::now())
    }

    fn reserve_at(&self, tokens: u64, now: Instant) -> Result<TokenReservation<'_>, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let gained = now.saturating_duration_since(state.refilled_at).as_secs_f64() / 60.0 * self.per_minute;
        state.left = (state.left + gained).min(self.per_minute);
        state.refilled_at = now;
        if tokens as f64 > state.left {
            let most = self.per_minute;
            return Err(format!(
                "tickets.llm.tokens_per_minute allows {most} tokens, and {tokens} are not left"
            ));
        }
        state.left -= tokens as f64;
        Ok(TokenReservation { budget: self, tokens })
    }
}

impl TokenReservation<'_> {
    /// Corrects the budget by the tokens that were used. An unknown number counts as the reserved one.
    pub(super) fn settle(self, used: Option<u64>) {
        let Some(used) = used else { return };
        let mut state = self.budget.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left = (state.left + self.tokens as f64 - used as f64).min(self.budget.per_minute);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    #[test]
    fn concurrent_calls_cannot_overdraw_the_budget() {
        let (budget, start) = (TokenBudget::new(600), Instant::now());
        let first = budget.reserve_at(400, start).unwrap();
        let refused = budget.reserve_at(300, start).unwrap_err();
        assert_eq!(refused, "tickets.llm.tokens_per_minute allows 600 tokens, and 300 are not left");
        first.settle(Some(100));
        budget.reserve_at(500, start).unwrap().settle(Some(700));
        // 200 tokens over, which refill at ten tokens per second.
        assert!(budget.reserve_at(1, start + Duration::from_secs(20)).is_err());
        assert!(budget.reserve_at(1, start + Duration::from_secs(21)).is_ok());
    }

    #[test]
    fn unsettled_tokens_count_as_used() {
        let (budget, start) = (TokenBudget::new(600), Instant::now());
        budget.reserve_at(400, start).unwrap();
        budget.reserve_at(200, start).unwrap().settle(None);
        assert!(budget.reserve_at(1, start).is_err());
        assert!(budget.reserve_at(600, start + Duration::from_secs(60)).is_ok(), "no more than a minute's");
    }
}
