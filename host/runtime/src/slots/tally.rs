//! Counts of the calls of one version by their result.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the calls of one version by their result, since it was loaded.
#[derive(Debug, Default)]
pub struct Tally {
    calls: AtomicU64,
    failures: AtomicU64,
    errors: AtomicU64,
    running: AtomicU64,
}

/// The result of a call, as far as its version is judged by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// The component answered.
    Answered,
    /// The component answered with an error of its own type, which may be the caller's fault.
    GuestError,
    /// The component trapped, or its answer is invalid: the component's own fault.
    Trapped,
    /// The call exceeded a limit, which a costly input of one client can cause.
    LimitExceeded,
    /// The call missed its deadline, which a slow backend can cause.
    TimedOut,
}

/// A snapshot of a [`Tally`], or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls that have ended.
    pub calls: u64,
    /// Calls that the sandbox ended.
    pub failures: u64,
    /// Calls that the component answered with an error.
    pub errors: u64,
}

fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Tally {
    /// Records the result of a call that has ended.
    pub fn record(&self, result: CallResult) {
        match result {
            CallResult::Answered => {}
            CallResult::GuestError => increment(&self.errors),
            CallResult::Trapped | CallResult::LimitExceeded | CallResult::TimedOut => {
                increment(&self.failures)
            }
        }
        increment(&self.calls);
    }

    /// Returns a snapshot of the counts.
    pub fn counts(&self) -> CallCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CallCounts { calls: read(&self.calls), failures: read(&self.failures), errors: read(&self.errors) }
    }

    /// Returns the number of calls that run now.
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    /// Counts a call as running until the returned guard is dropped.
    pub(crate) fn start_call(&self) -> RunningCall<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        RunningCall(self)
    }
}

/// A guard that counts a call as running.
#[derive(Debug)]
pub struct RunningCall<'a>(&'a Tally);

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CallCounts {
    /// Returns what was counted after `earlier`.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            failures: self.failures.saturating_sub(earlier.failures),
            errors: self.errors.saturating_sub(earlier.errors),
        }
    }

    /// Returns failures in percent of calls.
    pub fn failure_percent(self) -> f64 {
        percent(self.failures, self.calls)
    }

    /// Returns errors in percent of calls.
    pub fn error_percent(self) -> f64 {
        percent(self.errors, self.calls)
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_result() {
        let tally = Tally::default();
        tally.record(CallResult::Trapped);
        let before = tally.counts();
        for result in [
            CallResult::Answered,
            CallResult::GuestError,
            CallResult::TimedOut,
            CallResult::LimitExceeded,
            CallResult::Answered,
        ] {
            tally.record(result);
        }
        let since = tally.counts().since(before);
        assert_eq!(since, CallCounts { calls: 5, failures: 2, errors: 1 });
        assert_eq!((since.failure_percent(), since.error_percent()), (40.0, 20.0));
        assert_eq!(CallCounts::default().failure_percent(), 0.0);
    }

    #[test]
    fn running_calls_drop_when_guard_drops() {
        let tally = Tally::default();
        let (first, second) = (tally.start_call(), tally.start_call());
        drop(first);
        assert_eq!(tally.running(), 1);
        drop(second);
        assert_eq!(tally.running(), 0);
    }
}
