use std::sync::atomic::{AtomicU64, Ordering};

/// How the calls of one version ended since it was loaded.
#[derive(Debug, Default)]
pub struct Tally {
    calls: AtomicU64,
    failures: AtomicU64,
    errors: AtomicU64,
    running: AtomicU64,
}

/// How a call ended, as far as a version is judged by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It answered.
    Answer,
    /// It answered with an error of its own, which may be the caller's fault.
    Error,
    /// It broke: a trap or an answer that cannot be used, which is the component's own fault.
    Broken,
    /// It was ended at a limit, which a costly input of one client is enough for.
    Limited,
    /// It did not answer in time, which may be the fault of what it waited for.
    Late,
}

/// A reading of a [`Tally`], or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that ended.
    pub calls: u64,
    /// Of them, those that the sandbox ended.
    pub failures: u64,
    /// Of them, those that the component answered with an error.
    pub errors: u64,
}

fn add(figure: &AtomicU64) {
    figure.fetch_add(1, Ordering::Relaxed);
}

impl Tally {
    /// Counts a call that has ended.
    pub fn note(&self, ending: Ending) {
        match ending {
            Ending::Answer => {}
            Ending::Error => add(&self.errors),
            Ending::Broken | Ending::Limited | Ending::Late => add(&self.failures),
        }
        add(&self.calls);
    }

    /// The figures now.
    pub fn counts(&self) -> Counts {
        let read = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        Counts { calls: read(&self.calls), failures: read(&self.failures), errors: read(&self.errors) }
    }

    /// Calls that run now.
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    /// Counts a call as running for as long as the guard lives.
    pub fn run(&self) -> Run<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Run(self)
    }
}

/// A running call.
#[derive(Debug)]
pub struct Run<'a>(&'a Tally);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counts {
    /// What was counted after `earlier`.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            failures: self.failures.saturating_sub(earlier.failures),
            errors: self.errors.saturating_sub(earlier.errors),
        }
    }

    /// Failures in percent of calls.
    pub fn failure_percent(self) -> f64 {
        percent(self.failures, self.calls)
    }

    /// Errors in percent of calls.
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
    fn calls_are_counted_by_their_end() {
        let tally = Tally::default();
        tally.note(Ending::Broken);
        let before = tally.counts();
        for ending in [Ending::Answer, Ending::Error, Ending::Late, Ending::Limited, Ending::Answer] {
            tally.note(ending);
        }
        let since = tally.counts().since(before);
        assert_eq!(since, Counts { calls: 5, failures: 2, errors: 1 });
        assert_eq!((since.failure_percent(), since.error_percent()), (40.0, 20.0));
        assert_eq!(Counts::default().failure_percent(), 0.0);
    }

    #[test]
    fn running_calls_are_those_that_have_not_ended() {
        let tally = Tally::default();
        let (one, other) = (tally.run(), tally.run());
        drop(one);
        assert_eq!(tally.running(), 1);
        drop(other);
        assert_eq!(tally.running(), 0);
    }
}
